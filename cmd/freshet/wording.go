package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"freshet/cmd/freshet/command"
	"freshet/weburl"
)

// rooms and roomsLikeSettings match package names at the beginning of errors. Users do not know them. After a file and
// a line, one of the latter is the name of a setting.
var (
	rooms = regexp.MustCompile(`(?m)(^|: )(?:(?:store|warc|transfer|repair|retain|seen|trace|frontier|fetch|extract|text|dateparser|` +
		`stored|pdf|consent|discovery|robots|replay|policies|sequence|feed|broadcast|scheduler|multicast|mirror|resourcesync|queries|` +
		`importance|importer|sim|trial|lab|dashboard|schedule|allocate|change|graph|table): )+`)
	roomsLikeSettings = regexp.MustCompile(`(?m)(^|(?:[^0-9:]|[^0-9:][0-9]+): )(?:(?:crawl|segments|refresh|node|cluster|log|sink|webhook|index|` +
		`memory|fleet|weights): )+`)
)

// plainly returns the text of an error without names of packages and system calls.
func plainly(err error) string {
	text := err.Error()
	if fault, ok := errors.AsType[*fs.PathError](err); ok {
		switch {
		case errors.Is(fault, fs.ErrNotExist):
			text = strings.Replace(text, fault.Error(), fmt.Sprintf("%q: no such file or folder", fault.Path), 1)
		case errors.Is(fault, syscall.EISDIR):
			text = strings.Replace(text, fault.Error(), fmt.Sprintf("%q is a folder: want a file", fault.Path), 1)
		}
	}
	return roomsLikeSettings.ReplaceAllString(rooms.ReplaceAllString(text, "$1"), "$1")
}

// brief returns the beginning of a text for a message.
func brief(text string) string {
	const most = 100
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// parseURL parses a URL that a user typed.
func parseURL(text string) (weburl.URL, error) {
	u, err := weburl.Parse(text)
	if err == nil {
		return u, nil
	}
	if info, err := os.Stat(text); err == nil && info.IsDir() {
		return u, fmt.Errorf("%q is a folder, not a URL: a data directory is given as --data %s", text, text)
	} else if err == nil && info.Mode().IsRegular() {
		return u, fmt.Errorf("%q is a file, not a URL: give it as --seeds %s", text, text)
	}
	return u, urlError(text, err)
}

// urlError returns an error that says why a text is not a URL. It suggests the URL that was probably meant.
func urlError(typed string, err error) error {
	text := brief(typed)
	if slices.Contains([]string{".txt", ".csv", ".tsv", ".gz", ".yaml"}, filepath.Ext(text)) && !strings.Contains(text, ":") {
		return fmt.Errorf("%q is neither a URL nor a file: check its name; a file of URLs is given as --seeds FILE", text)
	}
	if guess, ok := guessURL(typed); ok && text == typed {
		return fmt.Errorf("%q is not a URL (did you mean %s?)", text, guess)
	}
	if scheme, _, ok := strings.Cut(text, "://"); ok && !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return fmt.Errorf("%q: want an http or https URL, such as https://example.org/", text)
	}
	_, cause, _ := strings.Cut(err.Error(), "not a valid URL: ")
	cause, _, _ = strings.Cut(strings.TrimPrefix(cause, "Error: "), " Url: ")
	cause = strings.Replace(strings.TrimSuffix(cause, "."), "The input's port is outside the range [0-65535]", "its port is not between 0 and 65535", 1)
	if cause == "" || cause == "neither scheme nor base" {
		return fmt.Errorf("%q is not a URL: want one such as https://example.org/", text)
	}
	return fmt.Errorf("%q is not a URL: %s", text, strings.ToLower(cause[:1])+cause[1:])
}

// withPort matches the address of a server without its scheme.
var withPort = regexp.MustCompile(`^[A-Za-z0-9.-]+:[0-9]+(/|$)`)

// urlOf returns the URL in a text, or the one that the user probably meant.
func urlOf(text string) (weburl.URL, bool) {
	u, err := weburl.Parse(text)
	if err != nil {
		return guessURL(text)
	}
	return u, true
}

// guessURL guesses the URL that the user meant. ok is false if there is no simple guess.
func guessURL(text string) (weburl.URL, bool) {
	guess := strings.Trim(strings.Join(strings.Fields(text), ""), "\"'`<>“”‘’")
	switch scheme, rest, ok := strings.Cut(guess, ":/"); {
	case ok:
		near := command.Nearest(strings.ToLower(scheme), []string{"http", "https"})
		if near == "" || strings.EqualFold(scheme, near) && guess == text {
			return weburl.URL{}, false
		}
		guess = near + "://" + strings.TrimLeft(rest, "/")
	case withPort.MatchString(guess):
		guess = "http://" + guess
	case strings.Contains(guess, ":") || strings.HasPrefix(guess, "/") || strings.HasPrefix(guess, "."):
		return weburl.URL{}, false
	default:
		guess = "https://" + guess
	}
	u, err := weburl.Parse(guess)
	return u, err == nil
}

// validContact accepts a URL or a mail address of the operator.
func validContact(text string) error {
	if err := printable(text); err != nil || text == "" {
		return err
	}
	u, err := url.Parse(text)
	switch {
	case err == nil && u.Scheme == "mailto" && strings.Contains(strings.Trim(u.Opaque, "@"), "@"):
		return nil
	case err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		return nil
	}
	hint := ""
	switch {
	case strings.Contains(strings.Trim(text, "@"), "@") && !strings.ContainsAny(text, " :/"):
		hint = " (did you mean mailto:" + text + "?)"
	case strings.Contains(text, ".") && !strings.ContainsAny(text, " :@"):
		hint = " (did you mean https://" + text + "?)"
	}
	return fmt.Errorf("%q: want a URL or a mailto: address where you can be reached, such as mailto:you@example.org%s", text, hint)
}

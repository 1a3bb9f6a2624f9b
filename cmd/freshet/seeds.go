package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"freshet/cmd/freshet/table"
	"freshet/weburl"
)

// readSeeds returns the URLs of the arguments and of the seed file: "": none, "-": in.
func readSeeds(args []string, file string, in io.Reader) ([]weburl.URL, error) {
	var seeds []weburl.URL
	for _, arg := range args {
		u, err := parseURL(arg)
		if err != nil {
			return nil, err
		}
		seeds = append(seeds, u)
	}
	if file == "" {
		return seeds, nil
	}
	name := "standard input"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("--seeds: %w", err)
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return nil, fmt.Errorf("--seeds %q is a folder: want a file with one URL on each line", file)
		}
		in, name = f, file
	}
	source, err := seedText(in)
	if err != nil {
		return nil, fmt.Errorf("--seeds %s: %w", name, err)
	}
	lines := bufio.NewScanner(source)
	lines.Buffer(nil, longestSeed)
	number := 1
	for ; lines.Scan(); number++ {
		u, err := seedOf(strings.TrimSpace(lines.Text()), strings.HasSuffix(file, ".csv"))
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, number, err)
		}
		if !u.IsZero() {
			seeds = append(seeds, u)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("%s:%d: %w", name, number, errNoSeeds)
	}
	if lines.Err() != nil {
		return nil, fmt.Errorf("--seeds %s: %w", name, lines.Err())
	}
	return seeds, nil
}

// longestSeed bounds a line of seeds, in bytes.
const longestSeed = 1 << 20

var errNoSeeds = errors.New("this is not a line of text: want a text file with one URL on each line")

// seedText returns the text of a file that may be compressed with gzip, without a byte order mark. It returns an error
// if the text is in UTF-16.
func seedText(in io.Reader) (*bufio.Reader, error) {
	source, err := unzipped(bufio.NewReader(in))
	if err != nil {
		return nil, err
	}
	start, _ := source.Peek(2) // an error comes again when the lines are read
	if string(start) == "\xff\xfe" || string(start) == "\xfe\xff" {
		return nil, errors.New("it is in UTF-16: save it as UTF-8")
	}
	table.SkipMark(source)
	return source, nil
}

// seedOf returns the URL of a line of seeds, or none for an empty line and a comment.
func seedOf(line string, csv bool) (weburl.URL, error) {
	switch {
	case line == "" || strings.HasPrefix(line, "#"):
		return weburl.URL{}, nil
	case !utf8.ValidString(line) || strings.ContainsRune(line, 0):
		return weburl.URL{}, errNoSeeds
	}
	text, _, _ := strings.Cut(line, "\t") // further columns may hold metadata
	u, err := parseURL(text)
	if strings.ContainsAny(text, ",;") && (csv || err != nil) {
		return u, fmt.Errorf("%q has several columns: want one URL on each line; freshet import reads CSV with a column url", brief(text))
	}
	return u, err
}

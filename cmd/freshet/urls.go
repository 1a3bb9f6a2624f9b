package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// urlList is a repeatable flag of URLs.
type urlList struct {
	urls []*url.URL
	fits func(*url.URL) error // returns an error for URLs that the flag does not accept
}

// Set adds a URL.
func (l *urlList) Set(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("it cannot be read as a URL") // without the text, which may have a password
	}
	if err := l.fits(u); err != nil {
		return fmt.Errorf("%q: %w", u.Redacted(), err)
	}
	for _, other := range l.urls {
		if other.String() == u.String() {
			return fmt.Errorf("%q occurs twice", u.Redacted())
		}
	}
	l.urls = append(l.urls, u)
	return nil
}

// String returns the URLs.
func (l *urlList) String() string { return strings.Join(l.GetSlice(), " ") }

// Type returns the name of the flag's type in help.
func (*urlList) Type() string { return "URL" }

// GetSlice returns the URLs.
func (l *urlList) GetSlice() []string {
	texts := make([]string, 0, len(l.urls))
	for _, u := range l.urls {
		texts = append(texts, u.String())
	}
	return texts
}

// Append adds a URL.
func (l *urlList) Append(text string) error { return l.Set(text) }

// Replace forgets all URLs and adds these.
func (l *urlList) Replace(texts []string) error {
	l.urls = nil
	for _, text := range texts {
		if err := l.Set(text); err != nil {
			return err
		}
	}
	return nil
}

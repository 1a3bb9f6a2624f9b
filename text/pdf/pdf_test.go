package pdf

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

func sample(t testing.TB) []byte {
	body, err := os.ReadFile("testdata/rivers.pdf")
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// TestRead reads a document of two pages that Chromium has made.
func TestRead(t *testing.T) {
	for range 2 { // of which the first waits for PDFium
		d, err := Read(t.Context(), sample(t), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"How rivers freeze\n", "A river freezes from its banks.", "Grüße aus dem Süden, naïve façade – “quoted”.", "\nThe second page tells of spring."} {
			if !strings.Contains(d.Text+"\n", part) {
				t.Errorf("%q is not in %q", part, d.Text)
			}
		}
		if d.Title != "How rivers freeze" {
			t.Errorf("its title is %q", d.Title)
		}
	}
}

// TestUnreadable holds that bytes that are no PDF, and every prefix of a PDF, give an error or a text, but no crash.
func TestUnreadable(t *testing.T) {
	whole := sample(t)
	for _, body := range [][]byte{nil, []byte("no PDF"), []byte("%PDF-1.7\n"), whole[:100], whole[:len(whole)/2], whole[len(whole)/2:]} {
		if d, err := Read(t.Context(), body, time.Minute); err != nil && !errors.Is(err, ErrUnreadable) {
			t.Errorf("%d bytes: %q, %v", len(body), d.Text, err)
		}
	}
	_, err := Read(t.Context(), []byte("no PDF"), time.Minute)
	if !errors.Is(err, ErrUnreadable) || err.Error() != "pdf: unreadable: it is no PDF, or damaged" {
		t.Errorf("what is no PDF: %v", err)
	}
}

// TestTime holds that a document has no more time than it is given.
func TestTime(t *testing.T) {
	if d, err := Read(t.Context(), sample(t), time.Millisecond); !errors.Is(err, ErrUnreadable) {
		t.Errorf("after its time: %q, %v", d.Text, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx, sample(t), time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

// BenchmarkRead reads the document, PDFium being compiled.
func BenchmarkRead(b *testing.B) {
	body := sample(b)
	if _, err := Read(b.Context(), body, time.Minute); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Read(b.Context(), body, time.Minute); err != nil {
			b.Fatal(err)
		}
	}
}

// Package pdf reads the text of PDF documents.
//
// It uses PDFium, compiled to WebAssembly, without cgo. PDFium runs in a sandbox without files and network, within
// bounds of memory and time. So a hostile document costs at most these bounds.
package pdf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/klippa-app/go-pdfium"
	pdferrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// The bounds of a document.
const (
	memoryPages = 1536 // of the sandbox, 64 KiB each
	mostPages   = 2000 // read at most
	longestText = 8 << 20
)

// ErrUnreadable matches the errors of documents that are no PDF, need a password, or exceed the bounds.
var ErrUnreadable = errors.New("pdf: unreadable")

// compiled returns the compiled PDFium. The first call takes some seconds; the result stays for the life of the
// process.
var compiled = sync.OnceValues(func() (wazero.CompilationCache, error) {
	cache := wazero.NewCompilationCache()
	pool, err := start(context.Background(), cache)
	if err != nil {
		return nil, err
	}
	return cache, pool.Close()
})

// start returns a sandbox that ends with ctx.
func start(ctx context.Context, cache wazero.CompilationCache) (pdfium.Pool, error) {
	pool, err := webassembly.Init(webassembly.Config{
		Context: ctx, MaxTotal: 1, FSConfig: wazero.NewFSConfig(), Stdout: io.Discard, Stderr: io.Discard,
		RuntimeConfig: wazero.NewRuntimeConfig().WithCompilationCache(cache).WithMemoryLimitPages(memoryPages).
			WithCloseOnContextDone(true).WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling),
	})
	if err != nil {
		return nil, fmt.Errorf("pdf: start PDFium: %w", err)
	}
	return pool, nil
}

// A Document is the text of a PDF.
type Document struct {
	Title  string // from the document's metadata, or ""
	Author string
	Text   string // of all pages, in order
}

// Read returns the text of a PDF. It takes at most within, from the time when PDFium is ready. Its errors are
// ErrUnreadable and that of ctx. It starts a sandbox and ends it.
func Read(ctx context.Context, body []byte, within time.Duration) (d Document, err error) {
	cache, err := compiled()
	if err != nil {
		return d, err
	}
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", ErrUnreadable, cause)
		}
		switch {
		case ctx.Err() != nil:
			err = ctx.Err()
		case bounded.Err() != nil:
			err = fmt.Errorf("%w: it takes longer than %v", ErrUnreadable, within)
		}
	}()
	pool, err := start(bounded, cache)
	if err != nil {
		return d, err
	}
	defer pool.Close()
	worker, err := pool.GetInstanceWithContext(bounded)
	if err != nil {
		return d, fmt.Errorf("pdf: start PDFium: %w", err)
	}
	opened, err := worker.OpenDocument(&requests.OpenDocument{File: &body})
	switch {
	case errors.Is(err, pdferrors.ErrPassword):
		return d, fmt.Errorf("%w: it needs a password", ErrUnreadable)
	case errors.Is(err, pdferrors.ErrFormat):
		return d, fmt.Errorf("%w: it is no PDF, or damaged", ErrUnreadable)
	case err != nil:
		return d, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return read(worker, opened.Document)
}

// read reads an opened document page by page.
func read(worker pdfium.Pdfium, opened references.FPDF_DOCUMENT) (d Document, err error) {
	for tag, to := range map[string]*string{"Title": &d.Title, "Author": &d.Author} {
		if meta, err := worker.FPDF_GetMetaText(&requests.FPDF_GetMetaText{Document: opened, Tag: tag}); err == nil {
			*to = strings.TrimSpace(meta.Value)
		}
	}
	count, err := worker.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: opened})
	if err != nil {
		return d, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	var text strings.Builder
	for i := range min(count.PageCount, mostPages) {
		page := requests.Page{ByIndex: &requests.PageByIndex{Document: opened, Index: i}}
		said, err := worker.GetPageText(&requests.GetPageText{Page: page})
		if err != nil {
			continue // a damaged page
		}
		text.WriteString(strings.TrimSpace(strings.ReplaceAll(said.Text, "\r\n", "\n")))
		text.WriteString("\n")
		if text.Len() > longestText {
			break
		}
	}
	d.Text = strings.TrimSpace(strings.ToValidUTF8(text.String(), "\uFFFD"))
	return d, nil
}

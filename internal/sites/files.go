package sites

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
)

// contentTypes has the content type of each extension. All other files are application/octet-stream. Only text/html has
// links that the walk over the files follows.
var contentTypes = map[string]string{
	".html": "text/html",
	".htm":  "text/html",
	".css":  "text/css",
	".js":   "text/javascript",
	".json": "application/json",
	".xml":  "application/xml",
	".txt":  "text/plain",
	".png":  "image/png",
	".gif":  "image/gif",
	".jpg":  "image/jpeg",
	".jpeg": "image/jpeg",
	".svg":  "image/svg+xml",
	".ico":  "image/x-icon",
	".woff": "font/woff",
	".pdf":  "application/pdf",
}

// ContentType returns the content type of a file with the given name.
func ContentType(name string) string {
	if t, ok := contentTypes[strings.ToLower(path.Ext(name))]; ok {
		return t
	}
	return "application/octet-stream"
}

// handler serves the files of one site.
type handler struct {
	site  Site
	files *os.Root
	opt   Options
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conn := r.Context().Value(wireKey{}).(*wire)
	exchange := conn.begin(h.site.Host(), r.RequestURI)
	if h.opt.Clock.Sleep(r.Context(), h.opt.Latency) != nil {
		panic(http.ErrAbortHandler) // the client has gone
	}
	status := h.answer(w, r)
	h.opt.Log.answer(exchange, status)
	conn.handlerDone()
}

// answer answers a request and returns the status.
func (h *handler) answer(w http.ResponseWriter, r *http.Request) int {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return refuse(w, http.StatusMethodNotAllowed)
	}
	target, _, _ := strings.Cut(r.RequestURI, "?")
	name, err := url.PathUnescape(target)
	if err != nil || !strings.HasPrefix(name, "/") || strings.ContainsRune(name, 0) || name == "/robots.txt" {
		return refuse(w, http.StatusNotFound)
	}
	if strings.HasSuffix(name, "/") {
		name += "index.html"
	}
	name = path.Clean(name)[1:]
	file, err := h.files.Open(name)
	if err != nil {
		return refuse(w, http.StatusNotFound)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err == nil && info.IsDir():
		w.Header().Set("Location", target+"/")
		return refuse(w, http.StatusMovedPermanently)
	case err != nil || !info.Mode().IsRegular():
		return refuse(w, http.StatusNotFound)
	}
	return h.send(w, r, file, info)
}

// send answers with the file, or with 304 if the client has it.
func (h *handler) send(w http.ResponseWriter, r *http.Request, file *os.File, info os.FileInfo) int {
	modified := info.ModTime().UTC().Truncate(time.Second)
	etag := fmt.Sprintf(`"%x-%x"`, info.ModTime().UnixNano(), info.Size())
	header := w.Header()
	header.Set("Content-Type", ContentType(info.Name()))
	if !h.opt.Forgetful {
		header.Set("ETag", etag)
		header.Set("Last-Modified", modified.Format(http.TimeFormat))
		if unmodified(r, etag, modified) {
			w.WriteHeader(http.StatusNotModified)
			return http.StatusNotModified
		}
	}
	header.Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodGet {
		_, _ = io.Copy(w, file) // it fails only if the client has left
	}
	return http.StatusOK
}

// unmodified reports whether the client already has the file, by its ETag, or without one by its date.
func unmodified(r *http.Request, etag string, modified time.Time) bool {
	if match := r.Header.Get("If-None-Match"); match != "" {
		return match == etag
	}
	since, err := http.ParseTime(r.Header.Get("If-Modified-Since"))
	return err == nil && !modified.After(since)
}

// refuse answers with a short text and returns the status.
func refuse(w http.ResponseWriter, status int) int {
	header := w.Header()
	header.Set("Content-Type", "text/plain")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, http.StatusText(status)+"\n")
	return status
}

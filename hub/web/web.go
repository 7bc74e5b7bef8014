// Package web is the hub's pages. Their sources are in the folder src; what the recipe of
// sandbox/components/build makes of them is in dist, and becomes a part of the program.
package web

import (
	"crypto/rand"
	"embed"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
)

//go:embed all:dist
var dist embed.FS

// Handler serves the pages and their files. Without them, in a program that was built
// without npm, it serves a text that names the API. It does not compress.
func Handler() http.Handler {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // only of a name that is no path
	}
	return handlerOf(files)
}

const (
	indexFile = "index.html"
	// assets has the files that have a digest in their names.
	assets = "/assets/"
	// placeholder is what index.html has where the nonce of an answer belongs.
	placeholder = "{{nonce}}"
)

func handlerOf(files fs.FS) http.Handler {
	index, err := fs.ReadFile(files, indexFile)
	if errors.Is(err, fs.ErrNotExist) {
		return protected(http.HandlerFunc(noPages))
	}
	if err != nil {
		panic(err) // the file is in the program
	}
	return protected(pages{files, string(index)})
}

// protected lets through what reads, and adds the headers that every answer has.
func protected(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", policy(""))
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "pages can only be read", http.StatusMethodNotAllowed)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// policy lets a page use what the hub itself serves, and styles that have the nonce.
func policy(nonce string) string {
	style := "style-src 'self'"
	if nonce != "" {
		style += " 'nonce-" + nonce + "'"
	}
	return "default-src 'none'; script-src 'self'; " + style + "; img-src 'self' data:; connect-src 'self'; " +
		"frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
}

// pages are the files of dist, with the text of index.html.
type pages struct {
	files fs.FS
	index string
}

func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	switch {
	case strings.HasPrefix(r.URL.Path, assets):
		// a folder would be listed
		if info, err := fs.Stat(p.files, name); err != nil || !info.Mode().IsRegular() {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		http.ServeFileFS(w, r, p.files, name)
	case !strings.Contains(name, "/") && strings.Contains(name, "."):
		http.NotFound(w, r) // such as /favicon.ico: no page is called like a file
	default:
		p.page(w)
	}
}

// page is index.html, whatever the path: the script in it knows which page it is. It has no
// tag to ask again by, since the nonce is another one each time.
func (p pages) page(w http.ResponseWriter) {
	nonce := rand.Text()
	w.Header().Set("Content-Security-Policy", policy(nonce))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = io.WriteString(w, strings.ReplaceAll(p.index, placeholder, nonce))
}

func noPages(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = io.WriteString(w, "This is kalypso's hub, built without its pages. Its API is at /api/v1, described by /api/v1/openapi.json.\n")
}

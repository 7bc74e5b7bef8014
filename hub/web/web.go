// Package web is the hub's pages. Their sources are in the folder src; what the recipe of
// sandbox/components/build makes of them is in dist, and becomes a part of the program.
package web

import (
	"crypto/rand"
	"embed"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"slices"
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
	// routesFile has the paths of the pages, as vite.config.ts takes them from the app.
	routesFile = "routes.json"
	// placeholder is what index.html has where the nonce of an answer belongs.
	placeholder = "{{nonce}}"
)

func handlerOf(files fs.FS) http.Handler {
	index, err := fs.ReadFile(files, indexFile)
	var routes []byte
	if err == nil {
		routes, err = fs.ReadFile(files, routesFile)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return protected(http.HandlerFunc(noPages))
	}
	p := pages{files: files, index: string(index)}
	if err == nil {
		err = json.Unmarshal(routes, &p.routes)
	}
	if err != nil {
		panic(err) // the files are in the program
	}
	return protected(p)
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

// pages are the files of dist, with the text of index.html and the paths that it is served at, as
// in /clusters/:name.
type pages struct {
	files  fs.FS
	index  string
	routes []string
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
	case slices.ContainsFunc(p.routes, func(route string) bool { return matches(route, r.URL.EscapedPath()) }):
		p.page(w)
	default:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, noSuchPage)
	}
}

const noSuchPage = "<!doctype html><html lang=\"en\"><title>No such page</title><h1>There is no such page</h1><p><a href=\"/\">The hub</a> has all that there are.</p></html>\n"

// matches is whether the app shows a route at an escaped path: a part that begins with a colon is
// any name, and letters may be large or small.
func matches(route, path string) bool {
	parts, names := strings.Split(route, "/"), strings.Split(path, "/")
	if last := len(names) - 1; last > 1 && names[last] == "" {
		names = names[:last] // a slash at the end changes nothing
	}
	return slices.EqualFunc(parts, names, func(part, name string) bool {
		return strings.EqualFold(part, name) || strings.HasPrefix(part, ":") && name != ""
	})
}

// page is index.html at each of the paths: the script in it knows which page it is. It has no
// tag to ask again by, since the nonce is another one each time.
func (p pages) page(w http.ResponseWriter) {
	nonce := rand.Text()
	w.Header().Set("Content-Security-Policy", policy(nonce))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = io.WriteString(w, strings.ReplaceAll(p.index, placeholder, nonce))
}

func noPages(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	if r.URL.Path != "/" {
		w.WriteHeader(http.StatusNotFound)
	}
	_, _ = io.WriteString(w, "This is kalypso's hub, built without its pages. Its API is at /api/v1, described by /api/v1/openapi.json.\n")
}

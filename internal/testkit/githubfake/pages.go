package githubfake

import (
	"fmt"
	"strconv"
	"strings"
)

// page is one page of a list, with the links to others (docs: using-the-rest-
// api/using-pagination-in-the-rest-api).
type page struct {
	items any
	link  string
}

func paginate[T any](c *call, all []T) page {
	per, n := 30, 1
	if v, err := strconv.Atoi(c.query("per_page")); err == nil && v > 0 {
		per = min(v, 100)
	}
	if v, err := strconv.Atoi(c.query("page")); err == nil && v > 0 {
		n = v
	}
	last := max(1, (len(all)+per-1)/per)
	var links []string
	link := func(rel string, to int) {
		v := c.request.URL.Query()
		v.Set("page", strconv.Itoa(to))
		links = append(links, fmt.Sprintf("<%s/api/v3%s?%s>; rel=%q", c.server.URL, c.request.URL.Path, v.Encode(), rel))
	}
	if n > 1 {
		link("prev", n-1)
		link("first", 1)
	}
	if n < last {
		link("next", n+1)
		link("last", last)
	}
	from := min((n-1)*per, len(all))
	items := all[from:min(from+per, len(all))]
	if items == nil {
		items = []T{}
	}
	return page{items, strings.Join(links, ", ")}
}

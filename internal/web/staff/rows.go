package staff

import (
	"slices"
	"strconv"

	"latchkey.dev/internal/web/kit"
)

// rowsCookie keeps how many rows a person wants on a page of a list, on this device.
const rowsCookie = "lk-rows"

// pageSizes are the numbers of rows that a person can choose.
var pageSizes = []int{25, 50, 100, 200}

// How many rows a page has without a choice, and at most.
const (
	usualRows = 50
	mostRows  = 200
)

// pageSize returns how many rows a page of a list has: what the person chose, or the usual number.
func (x *exchange) pageSize(usual, most int) int {
	n, err := strconv.Atoi(x.Cookie(rowsCookie))
	if err != nil || !slices.Contains(pageSizes, n) {
		n = usual
	}
	return min(n, most)
}

// savePageSize keeps a choice of the number of rows on the device.
func (x *exchange) savePageSize() {
	if n, err := strconv.Atoi(x.Value("rows")); err == nil && slices.Contains(pageSizes, n) {
		x.SetCookie(rowsCookie, strconv.Itoa(n), x.site.Now().Add(kit.LookAge))
	}
}

// sizing is the choice of the number of rows on a page.
type sizing struct {
	Size  int
	Sizes []int
}

// resizable offers other numbers of rows on the page of a list, unless the list is so short that all show the same.
func (x *exchange) resizable(p *page, size, most, shown int, more bool) {
	if !more && shown <= pageSizes[0] && !x.R.URL.Query().Has("page") {
		return
	}
	s := &sizing{Size: size}
	for _, n := range pageSizes {
		if n <= most {
			s.Sizes = append(s.Sizes, n)
		}
	}
	p.Sizing = s
}

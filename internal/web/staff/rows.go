package staff

import (
	"slices"
	"strconv"

	"latchkey.dev/internal/web/kit"
)

// rowsCookie is the name of the cookie with the number of rows on a page of a list, which the person has chosen.
const rowsCookie = "lk-rows"

// pageSizes are the numbers of rows that a person can choose.
var pageSizes = []int{25, 50, 100, 200}

// Number of rows of a page without a choice, and the maximum. Rows with much text, or that take
// long to load, have a lower maximum: 200 of them have more than 150 kB, or take more than 100 ms.
const (
	usualRows    = 50
	mostRows     = 200
	mostFullRows = 100
)

// pageSize returns the number of rows on a page of a list: the number that the person chose or, without a choice, usual. It is never more
// than most.
func (x *exchange) pageSize(usual, most int) int {
	n, err := strconv.Atoi(x.Cookie(rowsCookie))
	if err != nil || !slices.Contains(pageSizes, n) {
		n = usual
	}
	return min(n, most)
}

// savePageSize stores a posted choice of the number of rows in the cookie. It ignores a number that is not in pageSizes.
func (x *exchange) savePageSize() {
	if n, err := strconv.Atoi(x.Value("rows")); err == nil && slices.Contains(pageSizes, n) {
		x.SetCookie(rowsCookie, strconv.Itoa(n), x.site.Now().Add(kit.LookAge))
	}
}

// sizing is the choice of the number of rows that a page offers.
type sizing struct {
	Size  int
	Sizes []int
}

// resizable adds the choice of the number of rows (page size) to the page of a list. It adds none to a list that fits on one page of the
// smallest size. size is the current page size and most the largest. shown is the number of rows on this page, and more means that there is
// a next page.
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

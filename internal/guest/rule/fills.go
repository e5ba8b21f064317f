package rule

import "slices"

// Who says which guests fill in the form.
type Who string

// The values, each with more guests than the one before.
const (
	Lead   Who = "lead"   // the main guest
	Adults Who = "adults" // the main guest and all adults
	All    Who = "all"
)

var whoInOrder = []Who{Lead, Adults, All}

// Covers reports whether the guests of w include those of other: Lead, Adults and All each include the value before.
func (w Who) Covers(other Who) bool {
	return slices.Index(whoInOrder, w) >= slices.Index(whoInOrder, other)
}

// Fills returns who must at least fill in a form so that the property complies with the rule. A property may ask more guests.
func (r *Rule) Fills() Who {
	fills := Lead
	for _, w := range r.wants {
		switch {
		case w.optional, w.decides, w.when&head != 0:
		case w.when&adult == 0:
			return All
		default:
			fills = Adults
		}
	}
	return fills
}

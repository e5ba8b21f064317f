package reservation

import "strings"

// FoldNumber returns a booking number without spaces, in upper case. Two numbers are the same for a guest if they fold to the same text.
func FoldNumber(number string) string {
	return strings.ToUpper(strings.Join(strings.Fields(number), ""))
}

// folded returns what is stored so that a guest finds a number that mixes cases or has spaces. Other numbers need no second index entry:
// a search tries them in upper and in lower case.
func folded(number *string) *string {
	if number == nil {
		return nil
	}
	f := FoldNumber(*number)
	if f == *number || strings.ToLower(f) == *number {
		return nil
	}
	return &f
}

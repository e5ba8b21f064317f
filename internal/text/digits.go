package text

// Groups splits the digits of a code into the groups in which people read it: threes, or pairs and fours where threes would leave one or
// two digits.
func Groups(digits string) (groups []string) {
	for rest := digits; rest != ""; {
		n := min(3, len(rest))
		switch {
		case len(digits) == 8:
			n = 4
		case len(rest) == 4:
			n = 2
		}
		groups, rest = append(groups, rest[:n]), rest[n:]
	}
	return groups
}

package rule

// Purpose returns the kind of the text that says why the law asks a question, or "" if the law does not ask it. A text of the country goes
// before a general one, and a text of the field before one of its step. has reports whether a kind has a text.
func Purpose(law *Rule, a Ask, has func(kind string) bool) string {
	prefix := "why."
	switch a.Reason() {
	case ByProperty:
		return ""
	case Decides:
		prefix += string(Decides) + "."
	}
	for _, kind := range []string{law.Name + "." + string(a.Field), law.Name + "." + string(a.Step), string(a.Field), string(a.Step)} {
		if has(prefix + kind) {
			return prefix + kind
		}
	}
	return ""
}

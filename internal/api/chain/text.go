package chain

import (
	"strings"
	"unicode/utf8"

	"latchkey.dev/internal/fault"
)

func (w *walker) text(s string, path func() string) {
	switch {
	case !utf8.ValidString(s):
		w.found = append(w.found, fault.Field{Path: path(), Reason: fault.NotPrintable, Message: "is not valid UTF-8"})
	case strings.IndexByte(s, 0) >= 0:
		w.found = append(w.found, fault.Field{Path: path(), Reason: fault.NotPrintable, Message: "must not hold a NUL character"})
	}
}

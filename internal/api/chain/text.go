package chain

import (
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/text"
)

func (w *walker) text(s string, path func() string) {
	if p := text.Problem(s); p != "" {
		w.found = append(w.found, fault.Field{Path: path(), Reason: fault.NotPrintable, Message: p})
	}
}

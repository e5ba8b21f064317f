package conversation_test

import (
	"fmt"
	"slices"
	"testing"

	"latchkey.dev/internal/conversation"
	"latchkey.dev/internal/fault"
)

// The pages of a conversation have each message once in both orders, also if messages are sent while a reader pages.
func TestPagesOfAConversation(t *testing.T) {
	each(t, func(x *fixture) {
		for i := range 5 {
			_, err := x.send("gst_1", conversation.Guest, fmt.Sprint(i+1))
			x.must(err)
		}
		_, err := x.send("gst_2", conversation.Guest, "of another guest")
		x.must(err)
		pages := func(p conversation.Page) (numbers []int) {
			x.Helper()
			for range 10 {
				list, next, err := conversation.ListPage(x.d.View(x.Context()), x.keys, of("gst_1"), p)
				x.must(err)
				for _, m := range list {
					numbers = append(numbers, m.Number)
				}
				if next == "" {
					return numbers
				}
				if p.Token == "" {
					_, err = x.send("gst_1", conversation.Property, "meanwhile")
					x.must(err)
				}
				p.Token = next
			}
			x.Fatal("the pages do not end")
			return nil
		}
		if got := pages(conversation.Page{NewestFirst: true, Size: 2}); !slices.Equal(got, []int{5, 4, 3, 2, 1}) {
			x.Errorf("newest first: %v", got)
		}
		if got := pages(conversation.Page{Size: 2}); !slices.Equal(got, []int{1, 2, 3, 4, 5, 6, 7}) {
			x.Errorf("oldest first: %v", got)
		}
		if got := pages(conversation.Page{NewestFirst: true, After: 4, Size: 10}); !slices.Equal(got, []int{7, 6, 5}) {
			x.Errorf("newest first after 4: %v", got)
		}
		for _, token := range []string{"x", "-1", "99999999999999999999", "1 "} {
			_, _, err := conversation.ListPage(x.d.View(x.Context()), x.keys, of("gst_1"), conversation.Page{Token: token, Size: 2})
			if f, ok := fault.Of(err); !ok || f.Kind != fault.Invalid {
				x.Errorf("token %q: %v", token, err)
			}
		}
	})
}

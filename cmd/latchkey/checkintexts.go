package main

import (
	"google.golang.org/protobuf/proto"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// translates reports whether a flag gives a text in another language, such as --house-rules-in.
func (c *checkInSettings) translates() bool {
	return len(c.HouseRulesIn)+len(c.DirectionsIn)+len(c.AddressIn) > 0
}

// translate returns all texts by language after the change: copies of the stored texts, overwritten by those of the flags. It leaves out a
// language whose texts are all empty.
func (c *checkInSettings) translate(stored map[string]*propertyv1.LocalTexts) map[string]*propertyv1.LocalTexts {
	out := map[string]*propertyv1.LocalTexts{}
	for tag, t := range stored {
		out[tag] = proto.CloneOf(t)
	}
	set := func(texts map[string]string, change func(t *propertyv1.LocalTexts, text string)) {
		for tag, text := range texts {
			if out[tag] == nil {
				out[tag] = &propertyv1.LocalTexts{}
			}
			change(out[tag], text)
		}
	}
	set(c.HouseRulesIn, func(t *propertyv1.LocalTexts, text string) { t.HouseRules = text })
	set(c.DirectionsIn, func(t *propertyv1.LocalTexts, text string) { t.Directions = text })
	set(c.AddressIn, func(t *propertyv1.LocalTexts, text string) { t.Address = text })
	for tag, t := range out {
		if proto.Equal(t, &propertyv1.LocalTexts{}) {
			delete(out, tag)
		}
	}
	return out
}

package main

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"latchkey.dev/internal/clock"
)

// durations is an option of kong that makes every duration flag accept days, such as 30d.
var durations = kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(func(c *kong.DecodeContext, target reflect.Value) error {
	d, err := popDuration(c)
	target.SetInt(int64(d))
	return err
}))

// texts is an option of kong that reads texts. The case of a word that the command line chooses, such as a type of space, does not matter.
var texts = kong.KindMapper(reflect.String, kong.MapperFunc(func(c *kong.DecodeContext, target reflect.Value) error {
	t, err := c.Scan.PopValue("string")
	if err != nil {
		return err
	}
	text, ok := t.Value.(string)
	if !ok {
		return errors.New("must be a text in quotes") // without the value, which may be a secret
	}
	target.SetString(inCaseOf(c.Value.EnumSlice(), text))
	return nil
}))

// inCaseOf returns the word of a list that a text equals apart from case, or the text itself if there is none.
func inCaseOf(words []string, text string) string {
	if slices.Contains(words, text) {
		return text
	}
	for _, w := range words {
		if strings.EqualFold(w, text) {
			return w
		}
	}
	return text
}

// ranges is an option of kong that reads address ranges, and says what one is instead of the error of a parser.
var ranges = kong.TypeMapper(reflect.TypeFor[netip.Prefix](), kong.MapperFunc(func(c *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := c.Scan.PopValueInto("range", &text); err != nil {
		return err
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return fmt.Errorf("%q: want a range such as 10.0.0.0/8, or 10.0.0.1/32 for one address", text)
	}
	target.Set(reflect.ValueOf(p))
	return nil
}))

// popDuration returns the value of a duration flag, which may have days, such as 30d.
func popDuration(c *kong.DecodeContext) (time.Duration, error) {
	text, err := popText(c)
	if err != nil {
		return 0, err
	}
	return clock.ParseDuration(text)
}

// popText returns the value of a duration flag as text. It fails if the value in a settings file is of another type, such as a number.
func popText(c *kong.DecodeContext) (string, error) {
	t, err := c.Scan.PopValue("duration")
	if err != nil {
		return "", err
	}
	text, ok := t.Value.(string)
	if !ok {
		return "", fmt.Errorf("must be a duration such as \"30d\", \"12h\" or \"90m\", in quotes, not %v", t.Value)
	}
	return text, nil
}

// lifetime is a flag for how long a token is valid, in minutes for the API. If the flag is left out, it is 0: the token never expires.
type lifetime int32

// Decode parses the flag's value for kong: a duration in whole minutes above 0 and up to 366 days, such as 30d.
func (l *lifetime) Decode(c *kong.DecodeContext) error {
	d, err := popDuration(c)
	if err != nil {
		return err
	}
	if d <= 0 {
		return fmt.Errorf("must be more than 0, not %v: leave it out for a token that never expires", d)
	}
	n, err := inMinutes(d)
	if err == nil && n > mostLifetime {
		err = fmt.Errorf("must be at most 366d, not %v", d)
	}
	*l = lifetime(n)
	return err
}

// minutes is a flag for a duration that the API takes in whole minutes, from 0 to mostMinutes. Other values are refused.
type minutes int32

const (
	mostMinutes  = 7 * 24 * 60   // maximum overlap of a replaced secret in minutes
	mostLifetime = 366 * 24 * 60 // maximum lifetime of a token in minutes
)

// inMinutes converts a duration to minutes for the API. It fails unless the duration has whole minutes: rounded up, a secret would be valid
// for longer than asked; rounded down to 0, forever.
func inMinutes(d time.Duration) (int64, error) {
	if d%time.Minute != 0 {
		return 0, fmt.Errorf("must be whole minutes, such as 90m, not %v", d)
	}
	return int64(d / time.Minute), nil
}

// Decode parses the flag's value for kong: a duration in whole minutes such as 1d, or a number of minutes, from 0 to mostMinutes (7 days).
func (m *minutes) Decode(c *kong.DecodeContext) error {
	text, err := popText(c)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		d, err := clock.ParseDuration(text)
		if err != nil {
			return err
		}
		if n, err = inMinutes(d); err != nil {
			return err
		}
	}
	if n < 0 || n > mostMinutes {
		return fmt.Errorf("must be from 0 to 7d, not %s", text)
	}
	*m = minutes(n)
	return nil
}

package main

import (
	"fmt"
	"reflect"
	"strconv"
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

// popDuration returns the value of a duration flag.
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

// Decode parses the flag's value for kong: a duration above 0, such as 30d.
func (l *lifetime) Decode(c *kong.DecodeContext) error {
	d, err := popDuration(c)
	if err != nil {
		return err
	}
	if d <= 0 {
		return fmt.Errorf("must be more than 0, not %v: leave it out for a token that never expires", d)
	}
	*l = lifetime(inMinutes(d))
	return nil
}

// minutes is a flag for a duration that the API takes in whole minutes. It is rounded up.
type minutes int32

// Decode parses the flag's value for kong: a duration such as 1d, or a number of minutes.
func (m *minutes) Decode(c *kong.DecodeContext) error {
	text, err := popText(c)
	if err != nil {
		return err
	}
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		*m = minutes(n)
		return nil
	}
	d, err := clock.ParseDuration(text)
	if err != nil {
		return err
	}
	*m = minutes(inMinutes(d))
	return nil
}

package fault

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

func TestMessagesFormatOnlyWithArguments(t *testing.T) {
	if got := New(Invalid, BadJSON, "100% wrong").Message; got != "100% wrong" {
		t.Errorf("without arguments: %q", got)
	}
	if got := New(Invalid, BadJSON, "line %d", 7).Message; got != "line 7" {
		t.Errorf("with arguments: %q", got)
	}
}

func TestCopiesLeaveTheOriginalAlone(t *testing.T) {
	base := New(Exhausted, RateLimited, "slow down")
	derived := base.Retry(time.Second).Put("limit", "600").With(io.EOF)
	more := derived.Put("limit", "30")
	if base.RetryAfter != 0 || base.Meta != nil || base.Unwrap() != nil {
		t.Errorf("base changed: %+v", base)
	}
	if derived.Meta["limit"] != "600" || more.Meta["limit"] != "30" {
		t.Errorf("copies share their details: %v, %v", derived.Meta, more.Meta)
	}
	if derived.RetryAfter != time.Second || !errors.Is(derived, io.EOF) {
		t.Errorf("derived: %+v", derived)
	}
}

func TestOfLooksThroughWrapping(t *testing.T) {
	f := New(NotFound, ReservationNotFound, "no such reservation")
	got, ok := Of(fmt.Errorf("load: %w", f))
	if !ok || got != f {
		t.Fatalf("Of = %v, %v", got, ok)
	}
	if _, ok := Of(io.EOF); ok {
		t.Error("a plain error counts as a fault")
	}
	if !Has(fmt.Errorf("x: %w", f), ReservationNotFound) || Has(f, SpaceNotFound) || Has(nil, "") {
		t.Error("Has is wrong")
	}
}

func TestIsComparesKindAndReason(t *testing.T) {
	f := fmt.Errorf("x: %w", New(NotFound, ReservationNotFound, "no such reservation"))
	for _, c := range []struct {
		target *Fault
		want   bool
	}{
		{New(NotFound, "", ""), true},
		{New(NotFound, ReservationNotFound, "other words"), true},
		{New(NotFound, SpaceNotFound, ""), false},
		{New(Denied, ReservationNotFound, ""), false},
	} {
		if got := errors.Is(f, c.target); got != c.want {
			t.Errorf("Is(%v) = %v, want %v", c.target, got, c.want)
		}
	}
}

func TestFieldsNamesTheFirstThreeAndCountsTheRest(t *testing.T) {
	if f := Fields(); f != nil || Err(f) != nil {
		t.Fatalf("no fields make %v, %v", f, Err(f))
	}
	var list []Field
	for _, p := range []string{"a", "b", "c", "d", "e"} {
		list = append(list, Field{Path: p, Reason: Required, Message: "is required"})
	}
	f := Fields(list...)
	if f.Kind != Invalid || f.Reason != InvalidFields || len(f.Fields) != 5 {
		t.Errorf("got %+v", f)
	}
	if want := "a: is required; b: is required; c: is required; and 2 more"; f.Message != want {
		t.Errorf("message %q, want %q", f.Message, want)
	}
}

func TestErrorTextIsForTheLog(t *testing.T) {
	f := New(Unavailable, UnavailableReason, "try again").With(errors.New("disk on fire"))
	for _, part := range []string{"unavailable", "try again", "disk on fire"} {
		if !strings.Contains(f.Error(), part) {
			t.Errorf("%q lacks %q", f.Error(), part)
		}
	}
	if strings.Contains(f.Message, "disk") {
		t.Error("the cause reached the message")
	}
}

func TestKindString(t *testing.T) {
	for k := Internal; k <= NotAcceptable; k++ {
		if k.String() == "" || strings.HasPrefix(k.String(), "kind ") {
			t.Errorf("kind %d has no name", int(k))
		}
	}
	if got := Kind(99).String(); got != "kind 99" {
		t.Errorf("unknown kind: %q", got)
	}
}

package money

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		literal, currency string
		minor             int64
		err               error
	}{
		{"-0", "EUR", 0, nil}, {"-12.34", "EUR", -1234, nil}, {"1.25e1", "EUR", 1250, nil}, {"1250e-2", "EUR", 1250, nil}, {"100", "JPY", 100, nil},
		{"12.50", "IDR", 1250, nil}, {"0.005", "EUR", 0, ErrPrecision}, {"0x10", "EUR", 0, ErrAmount},
		{"12.5", "EUR", 1250, nil}, {"12.50", "EUR", 1250, nil}, {"12.500", "EUR", 1250, nil}, {"0", "EUR", 0, nil}, {"-0.00", "EUR", 0, nil},
		{"-12.05", "EUR", -1205, nil}, {"1e3", "EUR", 100000, nil}, {"1.25E1", "EUR", 1250, nil}, {"125e-2", "EUR", 125, nil},
		{"1000", "JPY", 1000, nil}, {"1.125", "KWD", 1125, nil}, {"1.5", "IDR", 150, nil},
		{"90071992547409.91", "EUR", maxMinor, nil}, {"90071992547409.92", "EUR", 0, ErrTooMuch}, {"1e40", "EUR", 0, ErrTooMuch},
		{"12.005", "EUR", 0, ErrPrecision}, {"0.5", "JPY", 0, ErrPrecision}, {"1e-3", "EUR", 0, ErrPrecision},
		{"1", "eur", 0, ErrCurrency}, {"1", "EU", 0, ErrCurrency}, {"1", "XXX", 0, ErrCurrency}, {"1", "XTS", 0, ErrCurrency}, {"1", "QQQ", 0, ErrCurrency},
		{"0.000", "JPY", 0, nil}, {"0e5", "EUR", 0, nil}, {"0.1", "EUR", 10, nil}, {"0.01", "EUR", 1, nil}, {"1E+2", "EUR", 10000, nil},
		{"1.234", "KWD", 1234, nil}, {"12.50", "RSD", 1250, nil}, {"1", "CLF", 10000, nil}, {"1.2345", "KWD", 0, ErrPrecision},
		{"1e300", "EUR", 0, ErrTooMuch}, {"99999999999999999999", "EUR", 0, ErrTooMuch}, {"-", "EUR", 0, ErrAmount}, {"１", "EUR", 0, ErrAmount},
		{"1", "", 0, ErrCurrency}, {"1", "ZZZ", 0, ErrCurrency}, {"1", "EURO", 0, ErrCurrency},
		{"", "EUR", 0, ErrAmount}, {"1,5", "EUR", 0, ErrAmount}, {"+1", "EUR", 0, ErrAmount}, {"1.", "EUR", 0, ErrAmount}, {".5", "EUR", 0, ErrAmount},
		{"NaN", "EUR", 0, ErrAmount}, {"1e9999", "EUR", 0, ErrAmount}, {"0x1", "EUR", 0, ErrAmount}, {"--1", "EUR", 0, ErrAmount},
	} {
		got, err := Parse(c.literal, c.currency)
		if !errors.Is(err, c.err) || got.Minor != c.minor || err == nil && got.Currency != c.currency {
			t.Errorf("Parse(%q, %q) = %v, %v; want %d, %v", c.literal, c.currency, got, err, c.minor, c.err)
		}
	}
}

func TestDecimals(t *testing.T) {
	for code, want := range map[string]int{"EUR": 2, "JPY": 0, "KWD": 3, "CLF": 4, "HUF": 2, "ISK": 0, "TND": 3, "IDR": 2, "XAF": 0} {
		if got, ok := Decimals(code); !ok || got != want {
			t.Errorf("%s has %d decimals, %v; want %d", code, got, ok, want)
		}
	}
}

// Parse reads each amount that String wrote.
func TestRoundTripOfAllAmounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Amount{rapid.Int64Range(-maxMinor, maxMinor).Draw(t, "minor"), rapid.SampledFrom([]string{"EUR", "JPY", "KWD", "CLF", "RSD"}).Draw(t, "currency")}
		literal, code, _ := strings.Cut(a.String(), " ")
		if got, err := Parse(literal, code); err != nil || got != a {
			t.Fatalf("%v was read as %v, %v", a, got, err)
		}
	})
}

// Parse reads the amount that String wrote, also after a conversion to a double.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Amount{rapid.Int64Range(-999_999_999_999, 999_999_999_999).Draw(t, "minor"), rapid.SampledFrom([]string{"EUR", "JPY", "KWD", "CLF"}).Draw(t, "currency")}
		literal := a.String()[:len(a.String())-4]
		if got, err := Parse(literal, a.Currency); err != nil || got != a {
			t.Fatalf("%v was read as %v, %v", a, got, err)
		}
		double, err := strconv.ParseFloat(literal, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Parse(strconv.FormatFloat(double, 'f', -1, 64), a.Currency); err != nil || got != a {
			t.Fatalf("%v through a double was read as %v, %v", a, got, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("12.50", "EUR")
	f.Add("-1e-2", "KWD")
	f.Fuzz(func(t *testing.T, literal, code string) {
		a, err := Parse(literal, code)
		if err != nil {
			return
		}
		written, _, _ := strings.Cut(a.String(), " ")
		if got, err := Parse(written, code); err != nil || got != a {
			t.Fatalf("%q %q: %+v, then %+v, %v", literal, code, a, got, err)
		}
	})
}

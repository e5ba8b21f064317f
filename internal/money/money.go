// Package money represents amounts in the smallest unit of their currency and parses them without floating point.
package money

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/text/currency"
)

// Amount is an amount in the smallest unit of its currency: {1250, "EUR"} is 12.50 euro.
type Amount struct {
	Minor    int64
	Currency string // Currency is in ISO 4217, upper case
}

// maxMinor is the largest absolute amount: larger integers lose precision in programs that read JSON numbers as doubles.
const maxMinor = 1<<53 - 1

// decimalsOfISO overrides golang.org/x/text/currency, which uses CLDR 32: it omits some official subunits and the newer
// codes.
var decimalsOfISO = map[string]int{
	"AFN": 2, "ALL": 2, "AMD": 2, "COP": 2, "GYD": 2, "IDR": 2, "IQD": 3, "IRR": 2, "KPW": 2,
	"LAK": 2, "LBP": 2, "MGA": 2, "MMK": 2, "MNT": 2, "MRU": 2, "MUR": 2, "PKR": 2, "RSD": 2,
	"SLE": 2, "SOS": 2, "SYP": 2, "TZS": 2, "UZS": 2, "VED": 2, "VES": 2, "XCG": 2, "YER": 2, "ZWG": 2,
}

// Decimals returns the number of decimals of a currency in ISO 4217, whose code is in capitals. It returns false for an unknown code, and
// for XXX and XTS, which are not money.
func Decimals(code string) (int, bool) {
	if len(code) != 3 || strings.ToUpper(code) != code || code == "XXX" || code == "XTS" {
		return 0, false
	}
	if n, ok := decimalsOfISO[code]; ok {
		return n, true
	}
	unit, err := currency.ParseISO(code)
	if err != nil {
		return 0, false
	}
	n, _ := currency.Standard.Rounding(unit)
	return n, true
}

// Errors of [Parse].
var (
	ErrCurrency  = errors.New("not an ISO 4217 currency code in capitals")
	ErrPrecision = errors.New("more decimals than the currency has")
	ErrAmount    = errors.New("not an amount of money")
	ErrTooMuch   = errors.New("larger than any amount owed can be")
)

// Parse parses a JSON number, which may be negative, exactly and without floating point. It returns ErrCurrency for an unknown currency,
// ErrAmount for another text than a JSON number, ErrPrecision for more decimals than the currency has, unless they are zeros, and
// ErrTooMuch for an amount beyond maxMinor in either direction.
func Parse(literal, code string) (Amount, error) {
	decimals, ok := Decimals(code)
	if !ok {
		return Amount{}, ErrCurrency
	}
	negative, digits, exponent, err := splitNumber(literal)
	if err != nil {
		return Amount{}, err
	}
	digits = strings.TrimLeft(digits, "0")
	for strings.HasSuffix(digits, "0") {
		digits = digits[:len(digits)-1]
		exponent++
	}
	if digits == "" {
		return Amount{Currency: code}, nil
	}
	shift := exponent + decimals
	if shift < 0 {
		return Amount{}, ErrPrecision
	}
	if len(digits)+shift > 16 {
		return Amount{}, ErrTooMuch
	}
	minor, err := strconv.ParseInt(digits+strings.Repeat("0", shift), 10, 64)
	if err != nil || minor > maxMinor {
		return Amount{}, ErrTooMuch
	}
	if negative {
		minor = -minor
	}
	return Amount{Minor: minor, Currency: code}, nil
}

// splitNumber splits the literal of a JSON number so that its value without the sign is digits × 10^exponent. digits may begin with zeros.
// It refuses other texts, more than 64 bytes and exponents beyond ±1000 with [ErrAmount].
func splitNumber(literal string) (negative bool, digits string, exponent int, err error) {
	if len(literal) > 64 {
		return false, "", 0, ErrAmount
	}
	rest, negative := strings.CutPrefix(literal, "-")
	mantissa, power, hasPower := strings.Cut(strings.ToLower(rest), "e")
	if hasPower {
		exponent, err = strconv.Atoi(power)
		if err != nil || exponent > 1000 || exponent < -1000 {
			return false, "", 0, ErrAmount
		}
	}
	whole, fraction, hasFraction := strings.Cut(mantissa, ".")
	if !allDigits(whole) || hasFraction && !allDigits(fraction) {
		return false, "", 0, ErrAmount
	}
	return negative, whole + fraction, exponent - len(fraction), nil
}

// allDigits reports whether s consists of ASCII digits. It is false for "".
func allDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// String formats the amount with its currency's decimals, such as "12.50 EUR". In an unknown currency it formats Minor without decimals.
func (m Amount) String() string { return m.Number() + " " + m.Currency }

// Number formats the amount as String does, without the currency.
func (m Amount) Number() string {
	decimals, _ := Decimals(m.Currency)
	sign, minor := "", m.Minor
	if minor < 0 {
		sign, minor = "-", -minor
	}
	digits := fmt.Sprintf("%0*d", decimals+1, minor)
	whole, fraction := digits[:len(digits)-decimals], digits[len(digits)-decimals:]
	if fraction != "" {
		whole += "." + fraction
	}
	return sign + whole
}

package reservation

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/money"
)

// defaultDecimals are the decimals of an amount without a currency: the most that a common currency has. An amount with more is refused.
const defaultDecimals = 3

// money merges price, owing and their currency. Amounts are stored in minor units, so if only the currency changes, it converts the stored
// amounts of before: the decimal number stays the same, without an exchange rate. An amount to pay needs a currency.
func (m *merge) money(before Record) {
	wrong := len(m.wrong)
	if v, named := m.patch.text(Currency); named {
		if v != nil && *v == "" {
			v = nil
		}
		m.out.Currency = v
	}
	if m.out.Currency != nil {
		if _, ok := money.Decimals(*m.out.Currency); !ok {
			m.addWrong(Currency, fault.WrongValue, "must be an ISO 4217 code in capitals, such as EUR")
		}
	}
	if len(m.wrong) > wrong {
		return
	}
	m.out.Price = m.amount(Price, before.Price, before.Currency)
	m.out.Owing = m.amount(Owing, before.Owing, before.Currency)
	if m.out.Owing != nil && m.out.Currency == nil {
		m.addWrong(Currency, fault.Required, "is required with owing: an ISO 4217 code such as EUR")
	}
}

// amount merges one amount of money and returns it in minor units of the merged currency; nil means no amount. held is the stored amount in
// minor units of heldCurrency. If the patch does not name f, the result is held, converted to the minor units of another merged currency.
func (m *merge) amount(f Field, held *int64, heldCurrency *string) *int64 {
	v, named := m.patch[f]
	amount, ok := v.(float64)
	switch {
	case named && !ok:
		return nil
	case named:
		return m.parseMinor(f, strconv.FormatFloat(amount, 'f', -1, 64))
	case held == nil || db.OrZero(heldCurrency) == db.OrZero(m.out.Currency):
		return held
	}
	return m.parseMinor(f, Decimal(*held, db.OrZero(heldCurrency)))
}

// parseMinor parses a sent decimal number into minor units of the merged currency. It adds an error for the field and
// returns nil if the currency does not allow the number.
func (m *merge) parseMinor(f Field, literal string) *int64 {
	if m.out.Currency == nil {
		n, ok := toMinorUnits(literal, defaultDecimals)
		if !ok {
			m.addWrong(f, fault.OutOfRange, "has too many digits")
			return nil
		}
		return &n
	}
	a, err := money.Parse(literal, *m.out.Currency)
	switch {
	case errors.Is(err, money.ErrPrecision):
		places, _ := money.Decimals(*m.out.Currency)
		m.addWrong(f, fault.OutOfRange, fmt.Sprintf("%s allows at most %d decimals", *m.out.Currency, places))
		return nil
	case err != nil:
		m.addWrong(f, fault.OutOfRange, "is not an amount of money: "+err.Error())
		return nil
	}
	return &a.Minor
}

// toMinorUnits parses a decimal number into an integer with places decimals: "1.5" with 2 places is 150. It returns false if the number has
// more digits than fit, or is malformed.
func toMinorUnits(literal string, places int) (int64, bool) {
	whole, fraction, _ := strings.Cut(literal, ".")
	if len(fraction) > places || len(whole) > 14 {
		return 0, false
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", places-len(fraction)), 10, 64)
	return n, err == nil
}

// Decimal formats minor units of a currency as a decimal number without zeros at its end: 150 of EUR is "1.5". With an empty currency,
// minor has defaultDecimals decimals.
func Decimal(minor int64, currency string) string {
	places := defaultDecimals
	if currency != "" {
		places, _ = money.Decimals(currency)
	}
	sign := ""
	if minor < 0 {
		sign, minor = "-", -minor
	}
	s := strconv.FormatInt(minor, 10)
	if len(s) <= places {
		s = strings.Repeat("0", places-len(s)+1) + s
	}
	if places == 0 {
		return sign + s
	}
	return sign + strings.TrimRight(strings.TrimRight(s[:len(s)-places]+"."+s[len(s)-places:], "0"), ".")
}

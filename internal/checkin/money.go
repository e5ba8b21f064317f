package checkin

import "latchkey.dev/internal/money"

// Money is an amount owed.
type Money = money.Amount

// Errors of ParseMoney.
var (
	ErrCurrency  = money.ErrCurrency
	ErrPrecision = money.ErrPrecision
	ErrAmount    = money.ErrAmount
	ErrTooMuch   = money.ErrTooMuch
)

// Decimals is money.Decimals.
func Decimals(code string) (int, bool) { return money.Decimals(code) }

// ParseMoney is money.Parse.
func ParseMoney(literal, code string) (Money, error) { return money.Parse(literal, code) }

package pms

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/text"
)

// Space types of the contract.
const (
	SpaceRoom = "Room"
	SpaceBed  = "Bed"
	SpaceDorm = "Dorm"
)

// Space is one room or bed of a partner's listing.
type Space struct {
	ID        string
	Type      string // SpaceRoom, SpaceBed or SpaceDorm
	Name      string
	IsPrivate bool
	IsActive  bool
	ParentID  string // the room of a bed; empty when the partner does not say
	Floor     string
}

// Bounds of a partner's answer, besides its size.
const (
	maxSpaces     = 10_000
	maxIDLength   = 128 // characters
	maxNameLength = 200
	maxFloor      = 64
	maxViolations = 20 // that are listed
)

// DecodeSpaces reads a getSpaces answer: a list, or {"data": list}. With any violation of
// the contract there are no spaces: half a listing would look like rooms gone.
func DecodeSpaces(body []byte) ([]Space, []fault.Field) {
	r := &reader{}
	raw := r.text(body)
	if raw != nil && raw[0] == '{' {
		raw = r.object("", raw)["data"]
		if raw == nil && len(r.violations) == 0 {
			r.fault("data", fault.Required, "must hold the list of spaces")
		}
	}
	items := r.list(raw)
	spaces := make([]Space, 0, len(items))
	for i, item := range items {
		spaces = append(spaces, r.space(fmt.Sprintf("[%d]", i), item))
		if len(r.violations) >= maxViolations {
			break
		}
	}
	if len(r.violations) > 0 {
		return nil, r.violations
	}
	return spaces, nil
}

func (r *reader) space(path string, raw json.RawMessage) Space {
	m := r.object(path, raw)
	if m == nil {
		return Space{}
	}
	s := Space{
		ID:        r.string(path+".id", m["id"], 1, maxIDLength),
		Type:      r.string(path+".type", m["type"], 1, maxNameLength),
		Name:      r.string(path+".name", m["name"], 0, maxNameLength),
		IsPrivate: r.bool(path+".isPrivate", m["isPrivate"]),
		IsActive:  r.bool(path+".isActive", m["isActive"]),
	}
	if s.Type != "" && !slices.Contains([]string{SpaceRoom, SpaceBed, SpaceDorm}, s.Type) {
		r.fault(path+".type", fault.WrongValue, "must be Room, Bed or Dorm")
	}
	if given(m["parentId"]) {
		s.ParentID = r.string(path+".parentId", m["parentId"], 1, maxIDLength)
	}
	if given(m["floor"]) {
		s.Floor = r.floor(path+".floor", m["floor"])
	}
	return s
}

// floor may be a word or a number.
func (r *reader) floor(path string, raw json.RawMessage) string {
	if isNumber(raw) && len(raw) <= maxFloor {
		return string(raw)
	}
	return r.string(path, raw, 0, maxFloor)
}

// DecodeStatus reads a getCheckInStatus answer. owing is read exactly, as money of
// owingCurrency, which only an owing of zero may leave out.
func DecodeStatus(body []byte) (checkin.Status, []fault.Field) {
	r := &reader{}
	m := r.object("", r.text(body))
	if m == nil {
		return checkin.Status{}, r.violations
	}
	status := checkin.Status{Owing: r.money(m), RoomReady: r.bool("roomReady", m["roomReady"])}
	if len(r.violations) > 0 {
		return checkin.Status{}, r.violations
	}
	return status, nil
}

func (r *reader) money(m map[string]json.RawMessage) checkin.Money {
	owing := m["owing"]
	switch {
	case owing == nil:
		r.fault("owing", fault.Required, "is required: a number, 0 when nothing is owed")
		return checkin.Money{}
	case !isNumber(owing):
		r.fault("owing", fault.WrongType, "must be a number")
		return checkin.Money{}
	}
	if !given(m["owingCurrency"]) {
		if zero(owing) {
			return checkin.Money{}
		}
		r.fault("owingCurrency", fault.Required, "is required with owing: an ISO 4217 code such as EUR")
		return checkin.Money{}
	}
	before := len(r.violations)
	code := r.string("owingCurrency", m["owingCurrency"], 3, 3)
	if len(r.violations) > before {
		return checkin.Money{}
	}
	amount, err := checkin.ParseMoney(string(owing), code)
	switch err {
	case nil:
	case checkin.ErrCurrency:
		r.fault("owingCurrency", fault.WrongValue, "must be an ISO 4217 code in capitals, such as EUR")
	default:
		r.fault("owing", fault.OutOfRange, "is "+err.Error())
	}
	return amount
}

// DecodeError looks for an error in an answer's body: {"error": {"reason", "message"}},
// or, as some send it, {"error": "message"}. It reports false for anything else, and for
// an error of null, false or "".
func DecodeError(body []byte) (reason, message string, found bool) {
	r := &reader{}
	raw := r.text(body)
	if raw == nil || raw[0] != '{' {
		return "", "", false
	}
	raw = r.object("", raw)["error"]
	switch string(raw) {
	case "", "null", "false", `""`:
		return "", "", false
	}
	if raw[0] == '"' {
		_ = json.Unmarshal(raw, &message)
		return "", message, true
	}
	if raw[0] == '{' {
		m := r.object("error", raw)
		_ = json.Unmarshal(m["reason"], &reason)
		_ = json.Unmarshal(m["message"], &message)
	}
	return reason, message, true
}

// reader collects what is wrong with an answer. Its messages hold nothing of the answer.
type reader struct {
	violations []fault.Field
}

func (r *reader) fault(path string, reason fault.Reason, message string) {
	if len(r.violations) < maxViolations {
		r.violations = append(r.violations, fault.Field{Path: path, Reason: reason, Message: message})
	}
}

// text returns the body as one JSON value, or nil after a violation.
func (r *reader) text(body []byte) json.RawMessage {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	switch {
	case !utf8.Valid(body):
		r.fault("", fault.BadFormat, "the body is not UTF-8")
	case !json.Valid(body):
		r.fault("", fault.BadJSON, "the body is not JSON")
	default:
		return body
	}
	return nil
}

func (r *reader) list(raw json.RawMessage) []json.RawMessage {
	if raw == nil {
		return nil
	}
	if raw[0] != '[' {
		r.fault("", fault.WrongType, "must be a list of spaces")
		return nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		r.fault("", fault.BadJSON, "the list cannot be read")
		return nil
	}
	if len(items) > maxSpaces {
		r.fault("", fault.TooMany, fmt.Sprintf("must hold at most %d spaces", maxSpaces))
		return nil
	}
	return items
}

// object returns the members of an object by their exact names; encoding/json would also
// take "OWING" for "owing", and the last of two.
func (r *reader) object(path string, raw json.RawMessage) map[string]json.RawMessage {
	if raw == nil {
		return nil
	}
	if raw[0] != '{' {
		r.fault(path, fault.WrongType, "must be an object")
		return nil
	}
	members := make(map[string]json.RawMessage)
	dec := json.NewDecoder(bytes.NewReader(raw))
	_, err := dec.Token()
	for err == nil && dec.More() {
		var key json.Token
		if key, err = dec.Token(); err != nil {
			break
		}
		var value json.RawMessage
		if err = dec.Decode(&value); err != nil {
			break
		}
		name, _ := key.(string)
		if _, twice := members[name]; twice {
			r.fault(path, fault.Duplicate, "must not hold the same name twice")
			return nil
		}
		members[name] = bytes.TrimSpace(value)
	}
	if err != nil {
		r.fault(path, fault.BadJSON, "the object cannot be read")
		return nil
	}
	return members
}

// string reads a required string of least to most characters.
func (r *reader) string(path string, raw json.RawMessage, least, most int) string {
	if raw == nil {
		r.fault(path, fault.Required, "is required")
		return ""
	}
	var s string
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		r.fault(path, fault.WrongType, "must be a string")
		return ""
	}
	switch n := utf8.RuneCountInString(s); {
	case n < least:
		r.fault(path, fault.TooShort, fmt.Sprintf("must have at least %d characters", least))
	case n > most:
		r.fault(path, fault.TooLong, fmt.Sprintf("must have at most %d characters", most))
	case strings.ContainsFunc(s, unprintable):
		r.fault(path, fault.NotPrintable, "must hold no control characters and no broken Unicode")
	default:
		return s
	}
	return ""
}

func unprintable(c rune) bool { return text.Unprintable(c) || c == unicode.ReplacementChar }

func (r *reader) bool(path string, raw json.RawMessage) bool {
	switch string(raw) {
	case "true":
		return true
	case "false":
	case "":
		r.fault(path, fault.Required, "is required: true or false")
	default:
		r.fault(path, fault.WrongType, "must be true or false")
	}
	return false
}

func given(raw json.RawMessage) bool { return raw != nil && string(raw) != "null" }

func isNumber(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

func zero(number json.RawMessage) bool {
	mantissa, _, _ := strings.Cut(strings.ToLower(string(number)), "e")
	return strings.Trim(mantissa, "-0.") == ""
}

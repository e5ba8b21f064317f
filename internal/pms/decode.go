package pms

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	pmsv1 "latchkey.dev/gen/latchkey/pms/v1"
	"latchkey.dev/internal/checkin"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/money"
	"latchkey.dev/internal/text"
)

const (
	// Types of spaces in an answer of getSpaces.
	SpaceRoom = "Room"
	SpaceBed  = "Bed"
	SpaceDorm = "Dorm"
)

// Limits of a PMS's answer.
const (
	maxSpaces     = 10_000 // the most spaces in a list; a longer list is refused
	maxIDLength   = 128    // the longest id, in characters
	maxNameLength = 200    // the longest name, in characters
	maxFloor      = 64     // the longest floor, in characters
	maxViolations = 20     // the most violations that an error lists; further ones are dropped
)

// Messages of violations about the type of a value.
const (
	mustBeObject = "must be an object"
	mustBeList   = "must be a list of spaces"
	mustBeString = "must be a string"
	mustBeNumber = "must be a number"
	mustBeBool   = "must be true or false"
)

// DecodeSpaces decodes a getSpaces answer: a list, or {"data": list}. If anything violates the contract it returns no
// spaces, because the missing ones would look like deleted rooms.
func DecodeSpaces(body []byte) ([]*pmsv1.Space, []fault.Field) {
	r := &reader{}
	spaces := r.readSpaces(body)
	if len(r.violations) > 0 {
		return nil, r.violations
	}
	return spaces, nil
}

// readSpaces reads the spaces of a getSpaces answer. An entry that is not an object is nil. It stops when no more violations can be added.
func (r *reader) readSpaces(body []byte) []*pmsv1.Space {
	raw := r.jsonValue(body)
	if raw != nil && raw[0] == '{' {
		raw = r.readObject("", raw)["data"]
		if raw == nil && len(r.violations) == 0 {
			r.addViolation("data", fault.Required, "must contain the list of spaces")
		}
	}
	items := r.readList(raw)
	spaces := make([]*pmsv1.Space, 0, len(items))
	for i, item := range items {
		spaces = append(spaces, r.readSpace(fmt.Sprintf("[%d]", i), item))
		if len(r.violations) >= maxViolations {
			break
		}
	}
	return spaces
}

// readSpace reads one space of a list. path is its place in the answer, for violations. It returns nil if the entry is not an object. A
// member with a violation is empty or false.
func (r *reader) readSpace(path string, raw json.RawMessage) *pmsv1.Space {
	m := r.readObject(path, raw)
	if m == nil {
		return nil
	}
	s := &pmsv1.Space{
		Id:        r.readString(path+".id", m["id"], 1, maxIDLength),
		Type:      r.readString(path+".type", m["type"], 1, maxNameLength),
		Name:      r.readString(path+".name", m["name"], 0, maxNameLength),
		IsPrivate: r.readBool(path+".isPrivate", m["isPrivate"]),
		IsActive:  r.readBool(path+".isActive", m["isActive"]),
	}
	if s.Type != "" && !slices.Contains([]string{SpaceRoom, SpaceBed, SpaceDorm}, s.Type) {
		r.addViolation(path+".type", fault.WrongValue, "must be Room, Bed or Dorm")
	}
	if isGiven(m["parentId"]) {
		s.ParentId = proto.String(r.readString(path+".parentId", m["parentId"], 1, maxIDLength))
	}
	if isGiven(m["floor"]) {
		s.Floor = proto.String(r.readFloor(path+".floor", m["floor"]))
	}
	return s
}

// readFloor reads the floor of a space, which partners send as a string or a number.
func (r *reader) readFloor(path string, raw json.RawMessage) string {
	if isNumber(raw) && len(raw) <= maxFloor {
		return string(raw)
	}
	return r.readString(path, raw, 0, maxFloor)
}

// DecodeStatus decodes a getCheckInStatus answer. owingCurrency may be missing only if owing is zero. The result is not a
// pmsv1.GetCheckInStatusResponse, because its double cannot hold every amount exactly.
func DecodeStatus(body []byte) (checkin.Status, []fault.Field) {
	r := &reader{}
	m := r.readObject("", r.jsonValue(body))
	if m == nil {
		return checkin.Status{}, r.violations
	}
	status := checkin.Status{Owing: r.readMoney(m), RoomReady: r.readBool("roomReady", m["roomReady"])}
	if len(r.violations) > 0 {
		return checkin.Status{}, r.violations
	}
	return status, nil
}

// readMoney reads the members owing and owingCurrency of an answer. It returns the zero Amount after a violation. An owed zero may have no
// currency.
func (r *reader) readMoney(m map[string]json.RawMessage) money.Amount {
	owing := m["owing"]
	switch {
	case owing == nil:
		r.addViolation("owing", fault.Required, "is required: a number, 0 when nothing is owed")
		return money.Amount{}
	case !isNumber(owing):
		r.addViolation("owing", fault.WrongType, mustBeNumber)
		return money.Amount{}
	}
	if !isGiven(m["owingCurrency"]) {
		if isZero(owing) {
			return money.Amount{}
		}
		r.addViolation("owingCurrency", fault.Required, "is required with owing: an ISO 4217 code such as EUR")
		return money.Amount{}
	}
	before := len(r.violations)
	code := r.readString("owingCurrency", m["owingCurrency"], 3, 3)
	if len(r.violations) > before {
		return money.Amount{}
	}
	amount, err := money.Parse(string(owing), code)
	switch err {
	case nil:
	case money.ErrCurrency:
		r.addViolation("owingCurrency", fault.WrongValue, "must be an ISO 4217 code in capitals, such as EUR")
	default:
		r.addViolation("owing", fault.OutOfRange, "is "+err.Error())
	}
	return amount
}

// DecodeError finds an error in an answer's body: {"error": {"reason", "message"}}, or {"error": "message"}, which some partners send. It
// returns nil for an error of null, false or "", and without one. Any other value is an error without texts.
func DecodeError(body []byte) *pmsv1.ErrorBody {
	r := &reader{}
	raw := r.jsonValue(body)
	if raw == nil || raw[0] != '{' {
		return nil
	}
	raw = r.readObject("", raw)["error"]
	switch string(raw) {
	case "", "null", "false", `""`:
		return nil
	}
	out := &pmsv1.ErrorBody{}
	switch raw[0] {
	case '"':
		_ = json.Unmarshal(raw, &out.Message)
	case '{':
		m := r.readObject("error", raw)
		_ = json.Unmarshal(m["reason"], &out.Reason)
		_ = json.Unmarshal(m["message"], &out.Message)
	}
	return out
}

// reader reads an answer and collects its violations of the contract. Their messages never quote the answer.
type reader struct {
	violations []fault.Field
}

// addViolation records that the answer violates the contract at a path, up to maxViolations.
func (r *reader) addViolation(path string, reason fault.Reason, message string) {
	if len(r.violations) < maxViolations {
		r.violations = append(r.violations, fault.Field{Path: path, Reason: reason, Message: message})
	}
}

// jsonValue returns the body as a JSON value, without a byte order mark and without white space around it. If the body is not UTF-8 or not
// JSON, it adds a violation and returns nil.
func (r *reader) jsonValue(body []byte) json.RawMessage {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	switch {
	case !utf8.Valid(body):
		r.addViolation("", fault.BadFormat, "the body is not UTF-8")
	case !json.Valid(body):
		r.addViolation("", fault.BadJSON, "the body is not JSON")
	default:
		return body
	}
	return nil
}

// readList returns the entries of a JSON list, at most maxSpaces, or nil after a violation. For a nil raw it adds no violation.
func (r *reader) readList(raw json.RawMessage) []json.RawMessage {
	if raw == nil {
		return nil
	}
	if raw[0] != '[' {
		r.addViolation("", fault.WrongType, mustBeList)
		return nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		r.addViolation("", fault.BadJSON, "the list cannot be read")
		return nil
	}
	if len(items) > maxSpaces {
		r.addViolation("", fault.TooMany, fmt.Sprintf("must contain at most %d spaces", maxSpaces))
		return nil
	}
	return items
}

// readObject returns the members of a JSON object by their exact names, or nil after a violation. For a nil raw (a missing member, or a
// body that was refused already) it returns nil and adds no violation. encoding/json would also accept "OWING" for "owing", and duplicate
// names.
func (r *reader) readObject(path string, raw json.RawMessage) map[string]json.RawMessage {
	if raw == nil {
		return nil
	}
	if raw[0] != '{' {
		r.addViolation(path, fault.WrongType, mustBeObject)
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
			r.addViolation(path, fault.Duplicate, "must not contain the same name twice")
			return nil
		}
		members[name] = bytes.TrimSpace(value)
	}
	if err != nil {
		r.addViolation(path, fault.BadJSON, "the object cannot be read")
		return nil
	}
	return members
}

// readString reads a required string whose length in characters is within the limits. It returns "" after a violation.
func (r *reader) readString(path string, raw json.RawMessage, minLen, maxLen int) string {
	if raw == nil {
		r.addViolation(path, fault.Required, "is required")
		return ""
	}
	var s string
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		r.addViolation(path, fault.WrongType, mustBeString)
		return ""
	}
	switch n := utf8.RuneCountInString(s); {
	case n < minLen:
		r.addViolation(path, fault.TooShort, fmt.Sprintf("must have at least %d characters", minLen))
	case n > maxLen:
		r.addViolation(path, fault.TooLong, fmt.Sprintf("must have at most %d characters", maxLen))
	case strings.ContainsFunc(s, unprintable):
		r.addViolation(path, fault.NotPrintable, "must not contain control characters or invalid Unicode")
	default:
		return s
	}
	return ""
}

// unprintable reports whether a character is not allowed in a text of a PMS.
func unprintable(c rune) bool { return text.Unprintable(c) || c == unicode.ReplacementChar }

// readBool reads a required boolean. It returns false after a violation.
func (r *reader) readBool(path string, raw json.RawMessage) bool {
	switch string(raw) {
	case "true":
		return true
	case "false":
	case "":
		r.addViolation(path, fault.Required, "is required: true or false")
	default:
		r.addViolation(path, fault.WrongType, mustBeBool)
	}
	return false
}

// isGiven reports whether an optional member was sent with a value other than null.
func isGiven(raw json.RawMessage) bool { return raw != nil && string(raw) != "null" }

// isNumber reports whether a valid JSON value is a number.
func isNumber(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

// isZero reports whether a JSON number is zero, in any notation.
func isZero(number json.RawMessage) bool {
	mantissa, _, _ := strings.Cut(strings.ToLower(string(number)), "e")
	return strings.Trim(mantissa, "-0.") == ""
}

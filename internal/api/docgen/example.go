package main

import (
	"bytes"
	"encoding/json"
	"strings"
)

// sampleValues are realistic example values by field name. Other fields get an example by their type.
var sampleValues = map[string]any{
	"id": "rsv_01m7…", "propertyId": "prp_01m7…", "hostelId": "prp_01m7…", "integrationId": "int_01m7…", "reservationId": "rsv_01m7…", "spaceId": "spc_01m7…",
	"parentSpaceId": "spc_01m7…", "doorId": "spc_01m7…", "lockId": "lck_01m7…", "bridgeId": "brg_01m7…", "gateId": "gat_01m7…", "appId": "app_01m7…",
	"name": "Room 101", "doorName": "Room 101", "spaceName": "Room 101", "gateName": "Front door", "propertyName": "Harbour Hostel", "guestName": "Ada Lovelace",
	"firstName": "Ada", "lastName": "Lovelace", "email": "ada@example.com", "mobile": "+351 910 000 000", "pmsNumber": "1001", "state": "started",
	"from": "2027-07-01T15:00:00+01:00", "to": "2027-07-03T11:00:00+01:00", "fromDate": "2027-07-01", "toDate": "2027-07-03", "timeZone": "Europe/Lisbon",
	"roomId": "R101", "bedId": "D4-A", "externalId": "R101", "pmsSpaceId": "R101", "pin": "verified", "smartKey": "planned", "evidence": "verified", "status": "issued",
	"kind": "room", "type": "Room", "action": "getSpaces", "url": "https://pms.example/spaces", "method": "GET", "tokenIn": "query", "signingSecret": "whsec_…",
	"owing": 12.5, "price": 120, "owingCurrency": "EUR", "verdict": "opens", "severity": "risks", "nextPageToken": "", "floor": "1", "adultCount": 2, "childCount": 0,
	"scopes": []any{"reservations:write"}, "reasons": []any{}, "failures": []any{}, "companionIds": []any{}, "checkInTime": "15:00", "checkOutTime": "11:00",
	"birthDate": "1990-12-10", "nationality": "PT", "isPrivate": true, "isActive": true, "hasLock": true, "roomReady": true,
}

// maxExampleDepth bounds the nesting of a generated example.
const maxExampleDepth = 6

// example returns an example of an API answer with the schema s, as indented JSON. It is "" if s is nil or the example is empty.
func (d *document) example(s *schema) string {
	if s == nil {
		return ""
	}
	var out bytes.Buffer
	if err := d.writeSample(&out, "", *s, 0); err != nil || out.Len() < 3 {
		return ""
	}
	var text bytes.Buffer
	if json.Indent(&text, out.Bytes(), "", "  ") != nil {
		return ""
	}
	return text.String()
}

// writeSample writes an example value of a schema as JSON. name is the name of the field that holds the value, and deep its nesting: from
// maxExampleDepth on, a list is empty, unless sampleValues has the name. A reference to an unknown schema is no error.
func (d *document) writeSample(out *bytes.Buffer, name string, s schema, deep int) error {
	if to := s.refName(); to != "" {
		if target := d.Components.Schemas[to]; target != nil {
			s = *target
		}
	}
	switch {
	case len(s.Properties.Content) > 0:
		return d.writeSampleObject(out, s, deep)
	case s.Items != nil && sampleValues[name] == nil:
		out.WriteByte('[')
		if deep < maxExampleDepth {
			if err := d.writeSample(out, strings.TrimSuffix(name, "s"), *s.Items, deep+1); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		return nil
	}
	raw, err := json.Marshal(sampleValue(name, s))
	out.Write(raw)
	return err
}

// writeSampleObject writes an example object with all properties of a schema. deep is its nesting: from maxExampleDepth on, it leaves out
// lists and objects.
func (d *document) writeSampleObject(out *bytes.Buffer, s schema, deep int) error {
	rows, err := s.Rows()
	if err != nil {
		return err
	}
	out.WriteByte('{')
	first := true
	for _, row := range rows {
		if deep >= maxExampleDepth && (row.Items != nil || row.Link() != "") {
			continue
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		raw, err := json.Marshal(row.Name)
		if err != nil {
			return err
		}
		out.Write(raw)
		out.WriteByte(':')
		if err := d.writeSample(out, row.Name, row.schema, deep+1); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	return nil
}

// sampleValue returns the entry of sampleValues for a field's name, which can be a list. For any other name it returns an example by the
// schema's type, which must not be a list; of an object it returns an empty one.
func sampleValue(name string, s schema) any {
	if v, ok := sampleValues[name]; ok {
		return v
	}
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Format == "date-time":
		return "2027-07-01T14:00:00Z"
	case s.Type == "integer", s.Type == "number":
		return 1
	case s.Type == "boolean":
		return true
	case s.Type == "object":
		return map[string]any{}
	}
	return "…"
}

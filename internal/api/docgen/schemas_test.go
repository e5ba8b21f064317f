package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Messages of two packages never share a schema.
func TestSchemaNamesAreDistinct(t *testing.T) {
	const own = "latchkey.partner.v1"
	for _, test := range []struct {
		name     string
		messages []string
		want     []string // nil if the generator must fail
	}{
		{"no collision", []string{own + ".Space", "latchkey.pms.v1.Person"}, []string{"Space", "Person"}},
		{"the own package keeps its name", []string{"latchkey.pms.v1.Space", own + ".Space"}, []string{"PmsSpace", "Space"}},
		{"two other packages", []string{"latchkey.pms.v1.Space", "latchkey.guest.v1.Space"}, []string{"PmsSpace", "GuestSpace"}},
		{"a name that is taken", []string{"latchkey.pms.v1.Space", own + ".Space", own + ".PmsSpace"}, nil},
		{"two versions", []string{"latchkey.pms.v1.Space", "latchkey.pms.v2.Space"}, nil},
		{"of Google", []string{"google.protobuf.Any", own + ".Any"}, []string{"GoogleProtobufAny", "Any"}},
	} {
		names, err := newSchemaNames(own, test.messages)
		if (err != nil) != (test.want == nil) {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		got, want := slices.Sorted(maps.Values(names)), slices.Sorted(slices.Values(test.want))
		if test.want != nil && !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", test.name, got, want)
		}
	}
}

func TestSchemaIsNotAddedTwice(t *testing.T) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte("Space: {}"), &doc); err != nil {
		t.Fatal(err)
	}
	schemas := doc.Content[0]
	if addSchema(schemas, "Space", &yaml.Node{}) == nil || addSchema(schemas, "Gate", &yaml.Node{}) != nil {
		t.Error("a second Space is taken, or a first Gate is refused")
	}
}

func TestReferenceWithoutSchemaIsRefused(t *testing.T) {
	const text = "paths: {/a: {get: {$ref: '#/components/schemas/latchkey.pms.v1.Space'}}}\ncomponents: {schemas: {}}"
	if _, err := refine(areas[0], []byte(text)); err == nil || !strings.Contains(err.Error(), "latchkey.pms.v1.Space") {
		t.Errorf("got %v", err)
	}
}

package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"latchkey.dev/internal/fault/envelope"
	"latchkey.dev/internal/text"
)

//go:embed reference.html
var referencePage string

// document holds the parts of an OpenAPI document that the reference page shows.
type document struct {
	Title struct {
		Title, Version string
	} `yaml:"info"`
	Paths      map[string]map[string]*operation
	Components struct {
		Schemas map[string]*schema
	}
	Tags []struct{ Name, Description string }
}

// operation is one HTTP operation. groupOperations sets Verb, Path and Sample.
type operation struct {
	Tags        []string
	Description string
	OperationID string `yaml:"operationId"`
	Parameters  []parameter
	RequestBody struct{ Content media } `yaml:"requestBody"`
	Responses   map[string]struct {
		Description string
		Content     media
	}

	// Callbacks maps the name of a callback, then its URL, then an HTTP method in lower case, to an operation.
	Callbacks map[string]map[string]map[string]*operation

	Verb, Path, Sample string `yaml:"-"`
}

// media maps a media type, such as application/json, to the schema of a body.
type media map[string]struct{ Schema schema }

type parameter struct {
	Name, In, Description string
	Required              bool
	Schema                schema
}

type schema struct {
	Ref         string `yaml:"$ref"`
	Type        string
	Format      string
	Description string
	AllOf       []schema `yaml:"allOf"`
	Items       *schema
	Enum        []string
	Properties  yaml.Node // a YAML node, because the order of the properties matters
}

// property is one row in the table of a schema.
type property struct {
	Name string
	schema
}

// schema returns the schema of the only media type (JSON), or nil if there is none.
func (m media) schema() *schema {
	for _, kind := range m {
		return &kind.Schema
	}
	return nil
}

// Body returns the schema of the request body, or nil.
func (o *operation) Body() *schema { return o.RequestBody.Content.schema() }

// Answer returns the schema of the answer with status 200, or nil.
func (o *operation) Answer() *schema { return o.Responses["200"].Content.schema() }

// refName returns the name of the schema to which $ref points, directly or in allOf, or "".
func (s schema) refName() string {
	for _, ref := range append([]schema{s}, s.AllOf...) {
		if i := strings.LastIndexByte(ref.Ref, '/'); i >= 0 {
			return ref.Ref[i+1:]
		}
	}
	return ""
}

// Link returns the name of the schema that a field, or the entries of a list field, refer to, or "".
func (s schema) Link() string {
	if s.Items != nil {
		return s.Items.refName()
	}
	return s.refName()
}

// Kind describes the type of a value in words. It leaves out the name of a referenced schema, because the page shows that name as a link.
func (s schema) Kind() string {
	switch {
	case s.Items != nil && s.Items.refName() == "":
		return "list of " + s.Items.Kind()
	case s.Items != nil:
		return "list of"
	case s.refName() != "":
		return ""
	case s.Format == "date-time":
		return "date and time"
	case s.Type == "integer", s.Type == "number", s.Type == "boolean":
		return s.Type
	case s.Format != "":
		return s.Type + ", " + s.Format
	}
	return s.Type
}

// Rows returns the properties of a schema in the order of the proto file.
func (s schema) Rows() ([]property, error) {
	var rows []property
	for i := 0; i+1 < len(s.Properties.Content); i += 2 {
		p := property{Name: s.Properties.Content[i].Value}
		if err := s.Properties.Content[i+1].Decode(&p.schema); err != nil {
			return nil, fmt.Errorf("openapi: %s: %w", p.Name, err)
		}
		rows = append(rows, p)
	}
	return rows, nil
}

// group is a section of the reference page: the operations of one service.
type group struct {
	Name, Description string
	Operations        []*operation
}

type namedSchema struct {
	Name string
	*schema
}

// headings maps a service, without the suffix Service, to the heading of its section. For a missing service, the key is the heading.
var headings = map[string]string{
	"ApiKey": "API keys", "App": "Partner apps", "Bridge": "Bridges", "Code": "Codes", "Endpoint": "Your endpoints", "Gate": "Gates",
	"Integration": "Integrations", "Lock": "Locks", "Mapping": "Mapping and conflicts", "Notice": "Notices", "Property": "Property",
	"Reservation": "Reservations", "SmartKey": "SmartKeys", "Space": "Rooms and beds", "Token": "Tokens",
}

// heading returns the heading of a service's section. tag is the name of the service.
func heading(tag string) string {
	short := strings.TrimSuffix(tag, "Service")
	if human, ok := headings[short]; ok {
		return human
	}
	return short
}

// verbOrder is the order in which the reference page shows the operations on the same path, by HTTP method. Other methods come first.
var verbOrder = []string{"GET", "POST", "PATCH", "PUT", "DELETE"}

// otherPage is a link to the reference page of another area.
type otherPage struct{ Title, Path string }

// render renders the page of an area.
func (d *document) render(a area, s site) ([]byte, error) {
	page, err := template.New("docs").Funcs(template.FuncMap{
		"plain": func(s string) string { return strings.Join(strings.Fields(s), " ") },
		"first": firstSentence,
		// An OpenAPI operation id has the form Service_Method.
		"method": func(operation string) string { return strings.Replace(operation, "_", "/", 1) },
		"human":  heading,
		"anchor": func(s string) string { return strings.ReplaceAll(s, " ", "-") },
		"code":   escapeText,
		"rpc":    func(operation string) bool { return strings.Contains(operation, "_") },
	}).Parse(referencePage)
	if err != nil {
		return nil, fmt.Errorf("docs: %w", err)
	}
	var others []otherPage
	for _, o := range s.areas {
		if o.Name != a.Name {
			others = append(others, otherPage{o.title(), o.page()})
		}
	}
	var out bytes.Buffer
	err = page.Execute(&out, map[string]any{
		"Title": a.title(), "Version": d.Title.Version,
		"Groups": d.groupOperations(), "Schemas": d.sortedSchemas(), "Errors": envelope.Table(), "Reasons": s.reasons,
		"Package": a.Package, "Document": a.document(), "Caller": a.caller, "Example": a.example, "Streams": a.streams, "Partner": a.isPartner(), "Others": others,
	})
	if err != nil {
		return nil, fmt.Errorf("docs: %w", err)
	}
	return out.Bytes(), nil
}

// escapeText escapes a text between tags. Unlike html/template it keeps quotes, which would take five bytes each: the JSON samples have
// thousands.
func escapeText(s string) template.HTML {
	return template.HTML(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s))
}

// firstSentence returns the first sentence of a description, in one line, which serves as summary. A single sentence is returned whole.
func firstSentence(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if i := strings.Index(s, ". "); i > 0 {
		return s[:i+1]
	}
	return s
}

// groupOperations returns one group of operations for each service, in the order of the document's tags. In a group they are sorted by path
// and HTTP method. Callbacks (calls to the partner) are a group too. An operation without a tag of the document is in no group. It also
// sets Verb, Path and Sample of each operation.
func (d *document) groupOperations() []*group {
	byTag := map[string]*group{}
	var groups []*group
	for _, t := range d.Tags {
		g := &group{Name: t.Name, Description: text.Capitalize(strings.TrimPrefix(t.Description, t.Name+" "))}
		byTag[t.Name] = g
		groups = append(groups, g)
	}
	add := func(path string, byVerb map[string]*operation) {
		for verb, op := range byVerb {
			op.Verb, op.Path, op.Sample = strings.ToUpper(verb), path, d.example(op.Answer())
			for _, t := range op.Tags {
				if g := byTag[t]; g != nil {
					g.Operations = append(g.Operations, op)
				}
			}
		}
	}
	for path, byVerb := range d.Paths {
		add(path, byVerb)
		for _, op := range byVerb {
			for name, byURL := range op.Callbacks {
				for _, calls := range byURL {
					add(name, calls)
				}
			}
		}
	}
	for _, g := range groups {
		slices.SortFunc(g.Operations, func(a, b *operation) int {
			return cmp.Or(strings.Compare(a.Path, b.Path), slices.Index(verbOrder, a.Verb)-slices.Index(verbOrder, b.Verb))
		})
	}
	return groups
}

// sortedSchemas returns the schemas of the document, sorted by name.
func (d *document) sortedSchemas() []namedSchema {
	var list []namedSchema
	for name, s := range d.Components.Schemas {
		list = append(list, namedSchema{name, s})
	}
	slices.SortFunc(list, func(a, b namedSchema) int { return strings.Compare(a.Name, b.Name) })
	return list
}

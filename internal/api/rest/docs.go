package rest

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	errorsv1 "latchkey.dev/gen/latchkey/errors/v1"
	"latchkey.dev/internal/api/chain"
)

//go:embed docs.html
var docsPage string

//go:embed docs.css
var docsStyle string

// Docs serves the description of the API, for programs at /openapi.yaml and for people at
// /docs. Both are made once.
type Docs struct {
	openapi, page []byte
}

// NewDocs reads an OpenAPI 3.0 document in YAML.
func NewDocs(openapi []byte) (*Docs, error) {
	refined, err := refine(openapi)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	enc := yaml.NewEncoder(&text)
	enc.SetIndent(2)
	if err := enc.Encode(refined); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	var doc document
	if err := refined.Decode(&doc); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	page, err := doc.render()
	if err != nil {
		return nil, err
	}
	return &Docs{openapi: text.Bytes(), page: page}, nil
}

// Paths returns what an http.ServeMux should send here.
func (d *Docs) Paths() []string {
	return []string{"GET /docs", "GET /openapi.yaml"}
}

func (d *Docs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h["X-Content-Type-Options"] = noSniff
	h.Set("Cache-Control", "no-cache")
	content := d.page
	switch r.URL.Path {
	case "/openapi.yaml":
		h.Set("Content-Type", "application/yaml")
		content = d.openapi
	default:
		pageHeader(h)
	}
	if r.Method == http.MethodHead {
		return
	}
	// A reader that went away needs no page.
	_, _ = w.Write(content)
}

// document is as much of OpenAPI as the page shows.
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

	Verb, Path string `yaml:"-"`
}

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
	Properties  yaml.Node // a map whose order counts
}

// property is one row of a schema's table.
type property struct {
	Name string
	schema
}

func (m media) schema() *schema {
	for _, kind := range m {
		return &kind.Schema
	}
	return nil
}

// Body and Answer are what the page shows of an operation's messages, nil for none.
func (o *operation) Body() *schema { return o.RequestBody.Content.schema() }

// Answer is the schema of the good answer.
func (o *operation) Answer() *schema { return o.Responses["200"].Content.schema() }

// Names of what a schema refers to, "" when it stands for itself.
func (s schema) name() string {
	for _, ref := range append([]schema{s}, s.AllOf...) {
		if i := strings.LastIndexByte(ref.Ref, '/'); i >= 0 {
			return ref.Ref[i+1:]
		}
	}
	return ""
}

// Link is the name of the schema that a field holds, alone or in a list.
func (s schema) Link() string {
	if s.Items != nil {
		return s.Items.name()
	}
	return s.name()
}

// Kind says in words what a value is.
func (s schema) Kind() string {
	switch {
	case s.Items != nil && s.Items.name() == "":
		return "list of " + s.Items.Kind()
	case s.Items != nil:
		return "list of"
	case s.name() != "":
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

// Rows are the properties in the order of the proto.
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

// group is a section of the page.
type group struct {
	Name, Description string
	Operations        []*operation
}

type namedSchema struct {
	Name string
	*schema
}

var serviceWord = regexp.MustCompile(`Service\b`)

func (d *document) render() ([]byte, error) {
	page, err := template.New("docs").Funcs(template.FuncMap{
		"plain": func(s string) string { return strings.Join(strings.Fields(s), " ") },
		"first": firstSentence,
		"short": func(s string) string { return serviceWord.ReplaceAllString(s, "") },
	}).Parse(docsPage)
	if err != nil {
		return nil, fmt.Errorf("docs: %w", err)
	}
	var out bytes.Buffer
	err = page.Execute(&out, map[string]any{
		"Title": d.Title, "Style": template.CSS(docsStyle), //nolint:gosec // a file of ours
		"Groups": d.groups(), "Schemas": d.schemas(), "Errors": chain.Table(), "Reasons": reasons(),
	})
	if err != nil {
		return nil, fmt.Errorf("docs: %w", err)
	}
	return out.Bytes(), nil
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// firstSentence is what a folded operation shows of its description.
func firstSentence(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if i := strings.Index(s, ". "); i > 0 {
		return s[:i+1]
	}
	return s
}

func (d *document) groups() []*group {
	byTag := map[string]*group{}
	var groups []*group
	for _, t := range d.Tags {
		g := &group{Name: t.Name, Description: capital(strings.TrimPrefix(t.Description, t.Name+" "))}
		byTag[t.Name] = g
		groups = append(groups, g)
	}
	for path, verbs := range d.Paths {
		for verb, op := range verbs {
			op.Verb, op.Path = strings.ToUpper(verb), path
			for _, t := range op.Tags {
				if g := byTag[t]; g != nil {
					g.Operations = append(g.Operations, op)
				}
			}
		}
	}
	for _, g := range groups {
		slices.SortFunc(g.Operations, func(a, b *operation) int { return strings.Compare(a.Path+" "+a.Verb, b.Path+" "+b.Verb) })
	}
	return groups
}

func (d *document) schemas() []namedSchema {
	var list []namedSchema
	for name, s := range d.Components.Schemas {
		list = append(list, namedSchema{name, s})
	}
	slices.SortFunc(list, func(a, b namedSchema) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// reasons lists the words of the proto's enum.
func reasons() []string {
	values := errorsv1.Reason(0).Descriptor().Values()
	var words []string
	for i := range values.Len() {
		if v := values.Get(i); v.Number() != 0 {
			words = append(words, lowerCamel(strings.TrimPrefix(string(v.Name()), "REASON_")))
		}
	}
	slices.Sort(words)
	return words
}

// lowerCamel turns BAD_FORMAT into badFormat.
func lowerCamel(name string) string {
	words := strings.Split(strings.ToLower(name), "_")
	for i, w := range words {
		if i > 0 && w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

package rest

import (
	_ "embed"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// callsText describes the calls to partners' endpoints, which no service of the proto has.
//
//go:embed calls.yaml
var callsText []byte

// callsTag is the section of the page that shows them.
const callsTag = "Calls to you"

const callsAbout = "Your endpoints, which the service calls. Every call carries the signature headers of Standard Webhooks, and latchkey-signature."

// addCalls adds the calls to partners' endpoints as callbacks of the operation that registers these.
func addCalls(root *yaml.Node) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(callsText, &doc); err != nil {
		return fmt.Errorf("openapi: calls.yaml: %w", err)
	}
	calls := doc.Content[0]
	register := child(child(child(root, "paths"), "/v1/endpoints"), "patch")
	if register == nil {
		return errors.New("openapi: nothing registers endpoints")
	}
	headers, callbacks := child(calls, "headers"), child(calls, "callbacks")
	for _, byURL := range values(callbacks) {
		for _, verbs := range values(byURL) {
			for _, op := range values(verbs) {
				params := child(op, "parameters")
				params.Content = append(params.Content, headers.Content...)
			}
		}
	}
	set(register, "callbacks", callbacks)
	schemas, more := child(child(root, "components"), "schemas"), child(calls, "schemas")
	schemas.Content = append(schemas.Content, more.Content...)
	tag := &yaml.Node{}
	if err := tag.Encode(map[string]string{"name": callsTag, "description": callsAbout}); err != nil {
		return fmt.Errorf("openapi: %w", err)
	}
	if tags := child(root, "tags"); tags != nil {
		tags.Content = append(tags.Content, tag)
	}
	return nil
}

// values are the values of a mapping.
func values(n *yaml.Node) []*yaml.Node {
	var all []*yaml.Node
	for i := 1; n != nil && i < len(n.Content); i += 2 {
		all = append(all, n.Content[i])
	}
	return all
}

package main

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// callbacksYAML describes the HTTP calls from the server to partners' endpoints, which no proto service defines.
//
//go:embed calls.yaml
var callbacksYAML []byte

// callbacksTag is the heading of the callbacks on the reference page. Each callback in calls.yaml has it as its tag.
const callbacksTag = "Calls to you"

const callbacksDescription = "Your endpoints, which the service calls. Every call carries the signature headers of Standard Webhooks, and latchkey-signature."

// addCallbacks adds the server's calls to partners' endpoints, with their schemas, to the OpenAPI document, as callbacks of the operation
// that registers endpoints.
func addCallbacks(root *yaml.Node) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(callbacksYAML, &doc); err != nil {
		return fmt.Errorf("openapi: calls.yaml: %w", err)
	}
	calls := doc.Content[0]
	register := child(child(child(root, "paths"), "/v1/endpoints"), "patch")
	if register == nil {
		return errors.New("openapi: no operation registers endpoints")
	}
	headers, callbacks := child(calls, "headers"), child(calls, "callbacks")
	for _, byURL := range mappingValues(callbacks) {
		for _, verbs := range mappingValues(byURL) {
			for _, op := range mappingValues(verbs) {
				params := child(op, "parameters")
				params.Content = append(params.Content, headers.Content...)
			}
		}
	}
	setChild(register, "callbacks", callbacks)
	schemas, more := child(child(root, "components"), "schemas"), child(calls, "schemas")
	for pair := range slices.Chunk(more.Content, 2) {
		if err := addSchema(schemas, pair[0].Value, pair[1]); err != nil {
			return err
		}
	}
	tag := &yaml.Node{}
	if err := tag.Encode(map[string]string{"name": callbacksTag, "description": callbacksDescription}); err != nil {
		return fmt.Errorf("openapi: %w", err)
	}
	if tags := child(root, "tags"); tags != nil {
		tags.Content = append(tags.Content, tag)
	}
	return nil
}

// mappingValues returns the values of a YAML mapping.
func mappingValues(n *yaml.Node) []*yaml.Node {
	var all []*yaml.Node
	for i := 1; n != nil && i < len(n.Content); i += 2 {
		all = append(all, n.Content[i])
	}
	return all
}

package e2etest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// EmptyID replaces an empty id in a URL path, because a path segment cannot be empty.
const EmptyID = "nothing"

var pathVariable = regexp.MustCompile(`\{([a-z_]+)\}`)

// Encode converts a request to the method, the path with query, and the body of a REST call. If the route's body is one field, fields that
// are neither that field nor in the path are left out.
func (r Route) Encode(req proto.Message) (verb, path string, raw []byte, err error) {
	msg := proto.Clone(req).ProtoReflect()
	path = pathVariable.ReplaceAllStringFunc(r.Path, func(v string) string {
		fd := msg.Descriptor().Fields().ByName(protoreflect.Name(strings.Trim(v, "{}")))
		value := msg.Get(fd).String()
		msg.Clear(fd)
		if value == "" {
			value = EmptyID
		}
		return url.PathEscape(value)
	})
	switch r.Body {
	case "":
		var q url.Values
		if q, err = queryValues(msg); len(q) > 0 {
			path += "?" + q.Encode()
		}
		return r.Verb, path, nil, err
	case "*":
		raw, err = protojson.Marshal(msg.Interface())
		return r.Verb, path, raw, err
	default:
		fd := msg.Descriptor().Fields().ByName(protoreflect.Name(r.Body))
		raw, err = protojson.Marshal(msg.Get(fd).Message().Interface())
		return r.Verb, path, raw, err
	}
}

// queryValues converts the fields of a message to query parameters.
func queryValues(msg protoreflect.Message) (url.Values, error) {
	raw, err := protojson.Marshal(msg.Interface())
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	out := url.Values{}
	addQueryValues(out, "", fields)
	return out, nil
}

// addQueryValues adds a decoded JSON value to the query under the name prefix. Fields of an object become prefix[field], lists are joined
// by commas.
func addQueryValues(out url.Values, prefix string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			name := k
			if prefix != "" {
				name = prefix + "[" + k + "]"
			}
			addQueryValues(out, name, e)
		}
	case []any:
		words := make([]string, len(v))
		for i, e := range v {
			words[i] = fmt.Sprint(e)
		}
		out.Set(prefix, strings.Join(words, ","))
	default:
		out.Set(prefix, fmt.Sprint(v))
	}
}

// encodeBody returns the body of a request: bytes and strings unchanged, nil for nil, and other values as JSON.
func encodeBody(content any) ([]byte, error) {
	switch content := content.(type) {
	case nil:
		return nil, nil
	case []byte:
		return content, nil
	case string:
		return []byte(content), nil
	}
	return json.Marshal(content)
}

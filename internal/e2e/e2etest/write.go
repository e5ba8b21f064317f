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

// Nothing stands in a path for an empty id, which no path can hold.
const Nothing = "nothing"

var variable = regexp.MustCompile(`\{([a-z_]+)\}`)

// Write makes of a request what REST sends: path, query and body by the route's rule.
func (r Route) Write(req proto.Message) (verb, path string, raw []byte, err error) {
	msg := proto.Clone(req).ProtoReflect()
	path = variable.ReplaceAllStringFunc(r.Path, func(v string) string {
		fd := msg.Descriptor().Fields().ByName(protoreflect.Name(strings.Trim(v, "{}")))
		value := msg.Get(fd).String()
		msg.Clear(fd)
		if value == "" {
			value = Nothing
		}
		return url.PathEscape(value)
	})
	switch r.Body {
	case "":
		var q url.Values
		if q, err = query(msg); len(q) > 0 {
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

// query writes a message's fields as a query string does.
func query(msg protoreflect.Message) (url.Values, error) {
	raw, err := protojson.Marshal(msg.Interface())
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	out := url.Values{}
	flatten(out, "", fields)
	return out, nil
}

func flatten(out url.Values, prefix string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			name := k
			if prefix != "" {
				name = prefix + "[" + k + "]"
			}
			flatten(out, name, e)
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

// body makes what is sent: bytes and strings unchanged, nothing for nil, other values as JSON.
func body(content any) ([]byte, error) {
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

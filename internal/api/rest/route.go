package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// route is one HTTP rule (google.api.http) of an RPC method.
type route struct {
	fullMethod string
	verb       string // HTTP method, such as GET
	segments   []string
	suffix     string // text after the colon of a path: "test" in /v1/endpoints/{action}:test
	rule       *binding
}

// binding describes which parts of an HTTP request fill which fields of an RPC's request message.
type binding struct {
	bodyIsRequest  bool                         // the body is the whole request message, so query parameters are not allowed
	body           protoreflect.FieldDescriptor // the field that the body fills; nil without a body and if bodyIsRequest
	nonQueryFields map[protoreflect.Name]bool   // fields that are read from the path or the body
}

// isNotInQuery reports whether a request field cannot be a query parameter, because the path or the body fills it.
func (b *binding) isNotInQuery(fd protoreflect.FieldDescriptor) bool {
	return b.bodyIsRequest || b.nonQueryFields[fd.Name()]
}

// loadRoutes reads the HTTP rules of services from their proto descriptors. It returns all routes, and the binding of each method by its
// full name; of several rules of a method, the last one's. A method without an HTTP rule has neither.
func loadRoutes(services []string) ([]*route, map[string]*binding, error) {
	var routes []*route
	byMethod := map[string]*binding{}
	for _, name := range services {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
		if err != nil {
			return nil, nil, fmt.Errorf("service %s: %w", name, err)
		}
		sd, ok := d.(protoreflect.ServiceDescriptor)
		if !ok {
			return nil, nil, fmt.Errorf("%s is not a service", name)
		}
		for i := range sd.Methods().Len() {
			md := sd.Methods().Get(i)
			rule, ok := proto.GetExtension(md.Options(), annotations.E_Http).(*annotations.HttpRule)
			if !ok || rule == nil {
				continue
			}
			full := fmt.Sprintf("/%s/%s", name, md.Name())
			for _, r := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
				rt, err := newRoute(full, r, md.Input())
				if err != nil {
					return nil, nil, fmt.Errorf("%s: %w", full, err)
				}
				routes = append(routes, rt)
				byMethod[full] = rt.rule
			}
		}
	}
	return routes, byMethod, nil
}

// newRoute returns the route of one HTTP rule of the method with the name full. input is the method's request message. It returns an error
// if the rule has no pattern that routes can have, or names a body that is no field of input; it does not check the variables of the path.
func newRoute(full string, rule *annotations.HttpRule, input protoreflect.MessageDescriptor) (*route, error) {
	verb, template := httpPattern(rule)
	if !strings.HasPrefix(template, "/") {
		return nil, fmt.Errorf("path %q does not begin with a slash", template)
	}
	rt := &route{fullMethod: full, verb: verb}
	path := template[1:]
	if i := strings.LastIndexByte(path, ':'); i > strings.LastIndexByte(path, '}') && i >= 0 {
		path, rt.suffix = path[:i], path[i+1:]
	}
	rt.segments = strings.Split(path, "/")
	b := &binding{bodyIsRequest: rule.GetBody() == "*", nonQueryFields: map[protoreflect.Name]bool{}}
	for _, s := range rt.segments {
		if name, ok := strings.CutPrefix(s, "{"); ok {
			name, _, _ = strings.Cut(strings.TrimSuffix(name, "}"), "=")
			b.nonQueryFields[protoreflect.Name(name)] = true
		}
	}
	if name := rule.GetBody(); name != "" && name != "*" {
		b.body = input.Fields().ByName(protoreflect.Name(name))
		if b.body == nil {
			return nil, fmt.Errorf("%s has no field %s for the body", input.FullName(), name)
		}
		b.nonQueryFields[b.body.Name()] = true
		b.nonQueryFields["update_mask"] = true // the server fills it from the body
	}
	rt.rule = b
	return rt, nil
}

// httpPattern returns the HTTP method and the path template of an HTTP rule. Both are empty for a rule without a pattern.
func httpPattern(rule *annotations.HttpRule) (verb, template string) {
	switch p := rule.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		return http.MethodGet, p.Get
	case *annotations.HttpRule_Put:
		return http.MethodPut, p.Put
	case *annotations.HttpRule_Post:
		return http.MethodPost, p.Post
	case *annotations.HttpRule_Delete:
		return http.MethodDelete, p.Delete
	case *annotations.HttpRule_Patch:
		return http.MethodPatch, p.Patch
	case *annotations.HttpRule_Custom:
		return p.Custom.GetKind(), p.Custom.GetPath()
	}
	return "", ""
}

// matches reports whether a URL path matches this route, whatever the HTTP method.
func (rt *route) matches(path string) bool {
	path, ok := strings.CutPrefix(path, "/")
	if rt.suffix != "" {
		var has bool
		path, has = strings.CutSuffix(path, ":"+rt.suffix)
		ok = ok && has
	}
	parts := strings.Split(path, "/")
	if !ok || len(parts) != len(rt.segments) {
		return false
	}
	for i, s := range rt.segments {
		if !strings.HasPrefix(s, "{") && s != parts[i] {
			return false
		}
	}
	return true
}

// allowedMethods returns the HTTP methods that a path supports, with HEAD for GET, and OPTIONS; none for an unknown path.
func (h *Handler) allowedMethods(path string) []string {
	var verbs []string
	for _, rt := range h.routes {
		if !rt.matches(path) {
			continue
		}
		verbs = append(verbs, rt.verb)
		if rt.verb == http.MethodGet {
			verbs = append(verbs, http.MethodHead)
		}
	}
	if len(verbs) > 0 {
		verbs = append(verbs, http.MethodOptions)
	}
	slices.Sort(verbs)
	return slices.Compact(verbs)
}

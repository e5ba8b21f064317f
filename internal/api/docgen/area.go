package main

import (
	"fmt"
	"html/template"
	"strings"

	"go.yaml.in/yaml/v3"
	"latchkey.dev/internal/text"
)

// area is a part of the API with its own OpenAPI document and reference page.
type area struct {
	Name    string // Name is "partner" for the page at /docs; other pages are at /docs/<name>
	Package string

	// caller is HTML that says which credentials a call of the area sends; example is a curl command.
	caller  template.HTML
	example string

	streams []stream
}

// stream is a method of the area that answers with a stream. It has no REST route, so the OpenAPI document does not contain it.
type stream struct {
	Method string // Service/Method
	About  string // what the stream sends, and how to call the method
}

// areas are the API areas in the order of the links on their pages.
var areas = []area{
	{
		Name: "partner", Package: "latchkey.partner.v1",
		caller: "Send <code>client-token</code> and <code>access-token</code> as headers, or <code>Authorization: Bearer</code> with the access token. A property’s own scripts send <code>api-key</code>.",
		example: `curl -X PATCH "$LATCHKEY/v1/reservations" \
  -H "client-token: $CLIENT_TOKEN" -H "access-token: $ACCESS_TOKEN" \
  -H "Content-Type: application/json" -d '{
    "pmsMeta": {"id": "B-1001"}, "pmsNumber": "1001",
    "booker": {"lastName": "Lovelace", "email": "ada@example.com"},
    "state": "confirmed", "roomId": "R101",
    "fromDate": "2027-07-01", "toDate": "2027-07-03"
  }'`,
	},
	{
		Name: "property", Package: "latchkey.property.v1",
		caller:  "Send <code>Authorization: Bearer</code> with a token of the property, which begins with <code>lkp_</code>. It says which property is meant and what its role may do.",
		example: `curl "$LATCHKEY/v1/property/spaces" -H "Authorization: Bearer $TOKEN"`,
		streams: []stream{
			{"EventService/Watch", `Send {"topics": ["locks"]}, or {} for all topics: the first message says that everything may have changed, and each later one has the ids of what changed and a resumeToken for the next call.`},
			{"MessageService/WatchConversations", "Send {}: each conversation with unread messages comes first, and then each one that changes; read its messages with ListMessages."},
		},
	},
	{
		Name: "admin", Package: "latchkey.admin.v1",
		caller:  "Send <code>Authorization: Bearer</code> with an operator’s token, which begins with <code>lko_</code>; over the socket in the data directory none is needed.",
		example: `curl "$LATCHKEY/v1/admin/properties" -H "Authorization: Bearer $TOKEN"`,
	},
	{
		Name: "guest", Package: "latchkey.guest.v1",
		caller: "Calls about a stay need <code>Authorization: Bearer</code> with a session, which begins with <code>lks_</code>: LinkService gives it for the link of a mail, or for two facts about the reservation. The other calls carry their own proof, which is a single-use link, a statement signed by the phone’s key, or a token. Bytes are base64; <a href=\"/docs/smartkey\">SmartKey, version 1</a> describes the documents in them.",
		example: `curl "$LATCHKEY/v1/guest/smartkey/enrolment" \
  -H "Content-Type: application/json" -d '{"link": "'"$LINK"'"}'`,
		streams: []stream{
			{"MessageService/WatchMessages", `Send {"after": 0}, or the number of the last message that you have: the messages after it come first, and then each new one.`},
		},
	},
	{
		Name: "kiosk", Package: "latchkey.kiosk.v1",
		caller:  "Send <code>Authorization: Bearer</code> with the tablet’s token, which begins with <code>lkt_</code>. A tablet gets it once, for an enrolment code.",
		example: `curl "$LATCHKEY/v1/kiosk" -H "Authorization: Bearer $TOKEN"`,
	},
}

// title returns the heading of the area's page.
func (a area) title() string {
	switch a.Name {
	case "partner":
		return "API for partners (PMS)"
	case "property":
		return "API for staff and scripts"
	case "admin":
		return "API for operators"
	case "guest":
		return "API for guests’ phones"
	case "kiosk":
		return "API for check-in tablets"
	}
	return text.Capitalize(a.Name) + " API"
}

// isPartner reports whether the area is the partner API, whose page and document have the short paths.
func (a area) isPartner() bool { return a.Name == "partner" }

// page returns the URL path of the reference page.
func (a area) page() string {
	if a.isPartner() {
		return "/docs"
	}
	return "/docs/" + a.Name
}

// document returns the URL path of the area's OpenAPI document.
func (a area) document() string {
	if a.isPartner() {
		return "/openapi.yaml"
	}
	return "/openapi/" + a.Name + ".yaml"
}

// security returns YAML with two keys for the OpenAPI document of the area: security, the credentials that a call needs, and
// securitySchemes, their definitions. The text begins with a newline and ends without one.
func (a area) security() string {
	switch a.Name {
	case "partner":
	case "guest":
		return `
security: [{}, {bearer: []}]
securitySchemes:
    bearer: {type: http, scheme: bearer, description: The session of a guest. Calls that carry their own proof need none.}`
	default:
		return `
security: [{bearer: []}]
securitySchemes:
    bearer: {type: http, scheme: bearer, description: A token of this area.}`
	}
	return `
security: [{clientToken: [], accessToken: []}, {bearer: []}, {apiKey: []}]
securitySchemes:
    clientToken: {type: apiKey, in: header, name: client-token, description: The token of the partner app. Together with access-token.}
    accessToken: {type: apiKey, in: header, name: access-token, description: The token of the app at one property. Together with client-token.}
    bearer: {type: http, scheme: bearer, description: The access token alone does the same.}
    apiKey: {type: apiKey, in: header, name: api-key, description: The key of a property's own scripts.}`
}

// reasonMeaning describes one error reason on the reference page. An entry with only a heading begins a new section.
type reasonMeaning struct{ Heading, Reason, Meaning string }

// parseMeanings parses the list of error reasons, which is YAML, and removes the full stop at the end of headings.
func parseMeanings(text []byte) ([]reasonMeaning, error) {
	var list []reasonMeaning
	if err := yaml.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("the reasons of errors: %w", err)
	}
	for i := range list {
		list[i].Heading = strings.TrimSuffix(list[i].Heading, ".")
	}
	return list, nil
}

package pms

import (
	"cmp"
	"slices"

	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/message"
)

// problem is what exactly failed in a call, more precisely than [Cause]. "endpoint." and the problem is the kind of its text for staff.
type problem string

const (
	problemAddress            problem = "address"
	problemCertificateExpired problem = "certificateExpired"
	problemCertificateName    problem = "certificateName"
	problemCertificateIssuer  problem = "certificateIssuer"
	problemCertificate        problem = "certificate"
	problemHandshake          problem = "handshake"
	problemLookup             problem = "lookup"
	problemLookupTime         problem = "lookupTime"
	problemConnectTime        problem = "connectTime"
	problemHandshakeTime      problem = "handshakeTime"
	problemFirstByteTime      problem = "firstByteTime"
	problemTotalTime          problem = "totalTime"
	problemConnect            problem = "connect"
	problemNotHTTP            problem = "notHttp"
	problemInterrupted        problem = "interrupted"
	problemHeaders            problem = "headersTooLarge"
	problemBody               problem = "bodyTooLarge"
	problemRedirect           problem = "redirect"
)

// problemDetails has, for each problem, the English detail in the text of an error.
var problemDetails = map[problem]string{
	problemAddress:            errAddress.Error(),
	problemCertificateExpired: "its certificate has expired or is not valid yet",
	problemCertificateName:    "its certificate is for another name",
	problemCertificateIssuer:  "its certificate is signed by an unknown authority",
	problemCertificate:        "its certificate is not valid",
	problemHandshake:          errHandshake.Error(),
	problemLookup:             errLookup.Error(),
	problemLookupTime:         errLookup.Error(),
	problemConnectTime:        "no connection within the limit",
	problemHandshakeTime:      "no TLS handshake within the limit",
	problemFirstByteTime:      "no answer began within the limit",
	problemTotalTime:          "the answer was not complete within the limit",
	problemConnect:            "the connection was refused or there is no route",
	problemNotHTTP:            "it did not answer in HTTP",
	problemInterrupted:        "the connection broke before the answer was complete",
	problemHeaders:            "its headers",
	problemBody:               "its body",
	problemRedirect:           "it redirects, and redirects are not followed; register the final address",
}

// problemsWithStatus are the kinds of texts that name the HTTP status.
var problemsWithStatus = []problem{problem(CauseStatus), problemRedirect}

// Problem returns what went wrong as a text in every language, without text from the partner. [CallError.Error] is in English.
func (e *CallError) Problem() message.Message {
	p := cmp.Or(e.problem, problem(e.Cause))
	m := endpointText(string(p), nil)
	switch {
	case p == problem(CauseContract):
		m.Params = message.Params{"problems": listProblems(e.Violations)}
	case slices.Contains(problemsWithStatus, p):
		m.Params = message.Params{"status": e.Status}
	}
	return m
}

// endpointText returns a text about an endpoint: the message of the kind "endpoint." + kind.
func endpointText(kind string, params message.Params) message.Message {
	return message.Message{Kind: "endpoint." + kind, Params: params}
}

// maxListed is the largest number of violations that a text describes; it counts the others.
const maxListed = 3

// listProblems returns one text for the first maxListed violations of an answer and the number of the others.
func listProblems(list []fault.Field) message.Message {
	var out message.Message
	for i, v := range list {
		next := ViolationText(v)
		if i == maxListed {
			next = endpointText("more", message.Params{"count": len(list) - i})
		}
		if i > 0 {
			next = endpointText("both", message.Params{"first": out, "second": next})
		}
		if out = next; i == maxListed {
			break
		}
	}
	return out
}

// violationKinds are the kinds of texts about a violation, by its reason. Other reasons have the kind wrongValue.
var violationKinds = map[fault.Reason]string{
	fault.Required: "missing", fault.WrongType: "wrongType", fault.OutOfRange: "outOfRange", fault.BadFormat: "notUtf8", fault.BadJSON: "notJson",
	fault.TooMany: "tooMany", fault.Duplicate: "duplicate", fault.TooShort: "tooShort", fault.TooLong: "tooLong", fault.NotPrintable: "notPrintable",
	fault.AlreadyExists: "idTwice", fault.SpaceNotFound: "noRoom",
}

// valueTypes are the types of values that the contract asks for, by the message of the violation.
var valueTypes = map[string]string{
	mustBeObject: "object", mustBeList: "list", mustBeString: "string", mustBeNumber: "number", mustBeBool: "boolean",
}

// ViolationText returns a violation of the contract as a text in every language. It is less precise than its English message.
func ViolationText(v fault.Field) message.Message {
	kind := cmp.Or(violationKinds[v.Reason], "wrongValue")
	var path any = v.Path
	if v.Path == "" {
		path = endpointText("answer", nil)
	}
	switch kind {
	case "notUtf8", "notJson":
		return endpointText(kind, nil)
	case "tooMany":
		return endpointText(kind, message.Params{"limit": maxSpaces})
	case "wrongType":
		return endpointText(kind, message.Params{"path": path, "type": endpointText("type."+valueTypes[v.Message], nil)})
	}
	return endpointText(kind, message.Params{"path": path})
}

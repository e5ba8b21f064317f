package partner

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"latchkey.dev/ent"
	"latchkey.dev/ent/endpoint"
	"latchkey.dev/ent/predicate"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/fault"
	"latchkey.dev/internal/id"
	"latchkey.dev/internal/text"
)

// Actions that the server calls at a partner.
const (
	GetSpaces        = "getSpaces"
	GetCheckInStatus = "getCheckInStatus"
	CheckIn          = "checkIn"
)

// Actions are all actions in the order of lists.
var Actions = []string{GetSpaces, GetCheckInStatus, CheckIn}

// Where the partner's token is sent: in the URL's query, or in the Authorization header.
const (
	InQuery  = "query"
	InHeader = "header"
)

// Endpoint is one address of a partner that the server calls for an action.
type Endpoint struct {
	PropertyID    string
	IntegrationID string
	Action        string
	URL           string
	Method        string // Method is GET or POST
	Token         string // Token is sent with each call; it is empty if there is none or it was not loaded
	TokenIn       string // TokenIn is InQuery or InHeader
	Health        Health
}

// Health is the result of the latest calls to an endpoint.
type Health struct {
	Failures      int        // Failures counts consecutive failures
	LastSuccessAt *time.Time // LastSuccessAt is nil if no call succeeded since the endpoint was registered or changed
	LastFailureAt *time.Time // LastFailureAt is nil if no call failed since the endpoint was registered or changed
	LastError     Failure    // LastError is why the last failed call or test failed; a success does not clear it
}

// States of health.
const (
	Unknown = "unknown" // no call of the endpoint since it was registered or changed; a failed test does not count
	Failing = "failing"
	OK      = "ok"
)

// State returns the state of an endpoint: Unknown before the first call, then OK or Failing by the last call.
func (h Health) State() string {
	switch {
	case h.Failures > 0:
		return Failing
	case h.LastSuccessAt != nil:
		return OK
	default:
		return Unknown
	}
}

// CalledAs reports whether both endpoints are called in the same way: with the same URL and method, and the same token in the same place.
func (e Endpoint) CalledAs(other Endpoint) bool {
	return e.URL == other.URL && e.Method == other.Method && e.Token == other.Token && e.TokenIn == other.TokenIn
}

// filledFrom returns the endpoint with its empty URL, method, token and tokenIn filled from the stored endpoint.
func (e Endpoint) filledFrom(was Endpoint) Endpoint {
	e.URL, e.Method = cmp.Or(e.URL, was.URL), cmp.Or(e.Method, was.Method)
	e.Token, e.TokenIn = cmp.Or(e.Token, was.Token), cmp.Or(e.TokenIn, was.TokenIn)
	return e
}

// withDefaults returns the endpoint with defaults for empty fields: method GET, or POST for checkIn; the token in the
// query, as the published API requires.
func (e Endpoint) withDefaults() Endpoint {
	if e.Method == "" {
		e.Method = "GET"
		if e.Action == CheckIn {
			e.Method = "POST"
		}
	}
	if e.TokenIn == "" {
		e.TokenIn = InQuery
	}
	return e
}

// Check returns a fault with all invalid fields of an endpoint to register, or another error if checkURL could not decide. checkURL returns
// a fault if the URL must not be called; it is pms.Client.CheckURL.
func (e Endpoint) Check(checkURL func(string) error) error {
	e = e.withDefaults()
	var wrong []fault.Field
	add := func(path string, r fault.Reason, message string) {
		wrong = append(wrong, fault.Field{Path: path, Reason: r, Message: message})
	}
	if !slices.Contains(Actions, e.Action) {
		add("action", fault.WrongValue, "must be getSpaces, getCheckInStatus or checkIn")
	}
	if e.URL == "" {
		add("url", fault.Required, "is required: no endpoint is registered for this action yet")
	} else {
		fields, err := urlProblems(e.URL, checkURL)
		if err != nil {
			return err
		}
		wrong = append(wrong, fields...)
	}
	if e.Method != "GET" && e.Method != "POST" {
		add("method", fault.WrongValue, "must be GET or POST")
	} else if e.Action == CheckIn && e.Method != "POST" {
		add("method", fault.WrongValue, "must be POST for checkIn")
	}
	if len(e.Token) > 1024 {
		add("token", fault.TooLong, "must have at most 1024 bytes")
	} else if strings.ContainsFunc(e.Token, text.Unprintable) {
		add("token", fault.NotPrintable, "must not contain control characters, such as line breaks")
	}
	if e.TokenIn != InQuery && e.TokenIn != InHeader {
		add("tokenIn", fault.WrongValue, "must be query or header")
	}
	return fault.Err(fault.Fields(wrong...))
}

// urlProblems returns why a URL must not be called, as the errors of a field; none if it may be called. An error means that checkURL could
// not decide.
func urlProblems(url string, checkURL func(string) error) ([]fault.Field, error) {
	if len(url) > 2048 {
		return []fault.Field{{Path: "url", Reason: fault.TooLong, Message: "must have at most 2048 bytes"}}, nil
	}
	err := checkURL(url)
	f, ok := fault.Of(err)
	switch {
	case err == nil:
		return nil, nil
	case !ok:
		return nil, err
	case len(f.Fields) > 0:
		return f.Fields, nil
	}
	return []fault.Field{{Path: "url", Reason: fault.WrongValue, Message: f.Message}}, nil
}

// Register stores or updates the endpoint of one action of an integration. Empty fields of e keep the stored value, or get the default if
// the endpoint is new. Invalid fields are refused: see Check. A changed endpoint loses its recorded health. The result has the token. The
// string is the signing secret of the integration, which is shown once, at the first registration of the integration; otherwise it is "".
func (r *Registry) Register(tx *db.Tx, e Endpoint, checkURL func(string) error) (Endpoint, string, error) {
	ctx := tx.Context()
	row, err := tx.Endpoint.Query().Where(endpointsOfIntegration(e.PropertyID, e.IntegrationID), endpoint.Action(e.Action)).Only(ctx)
	if err != nil && !ent.IsNotFound(err) {
		return Endpoint{}, "", wrapError("find an endpoint", err)
	}
	var old Endpoint
	if row != nil {
		if old, err = r.decryptEndpoint(ctx, row); err != nil {
			return Endpoint{}, "", err
		}
	}
	e = e.filledFrom(old).withDefaults()
	if err := e.Check(checkURL); err != nil {
		return Endpoint{}, "", err
	}
	own, err := Integration(tx, e.PropertyID, e.IntegrationID)
	if err != nil {
		return Endpoint{}, "", err
	}
	sealed, err := r.keys.Seal(ctx, e.PropertyID, tokenPurpose(e.IntegrationID, e.Action), []byte(e.Token))
	if err != nil {
		return Endpoint{}, "", wrapError("seal a token", err)
	}
	if row == nil {
		row, err = tx.Endpoint.Create().SetID(id.New("end")).SetPropertyID(e.PropertyID).SetIntegrationID(e.IntegrationID).
			SetAction(e.Action).SetURL(e.URL).SetMethod(e.Method).SetSealedToken(sealed).SetTokenPlace(e.TokenIn).SetCreatedAt(tx.Now()).Save(ctx)
	} else {
		update := row.Update().SetURL(e.URL).SetMethod(e.Method).SetSealedToken(sealed).SetTokenPlace(e.TokenIn)
		if !old.CalledAs(e) {
			update.SetFailures(0).SetLastError("").ClearLastProblem().ClearLastSuccessAt().ClearLastFailureAt()
		}
		row, err = update.Save(ctx)
	}
	if err != nil {
		return Endpoint{}, "", wrapError("store an endpoint", err)
	}
	secret, err := r.ensureSecret(tx, own)
	if err != nil {
		return Endpoint{}, "", err
	}
	return endpointFromRow(row, e.Token), secret, nil
}

// Endpoints returns the endpoints of an integration in the order of [Actions], without tokens.
func Endpoints(tx *db.Tx, propertyID, integrationID string) ([]Endpoint, error) {
	rows, err := tx.Endpoint.Query().Where(endpointsOfIntegration(propertyID, integrationID)).All(tx.Context())
	if err != nil {
		return nil, wrapError("list endpoints", err)
	}
	return sortEndpoints(rows), nil
}

// EndpointsOf returns the endpoints of all integrations of a property by integration id, without tokens. An integration without endpoints
// has no entry.
func EndpointsOf(tx *db.Tx, propertyID string) (map[string][]Endpoint, error) {
	rows, err := tx.Endpoint.Query().Where(endpoint.PropertyID(propertyID)).All(tx.Context())
	if err != nil {
		return nil, wrapError("list endpoints", err)
	}
	by := map[string][]Endpoint{}
	for _, e := range sortEndpoints(rows) {
		by[e.IntegrationID] = append(by[e.IntegrationID], e)
	}
	return by, nil
}

// Endpoint returns the endpoint of one action with its token, or a not-found fault. Use the token only for the server's calls to that
// integration.
func (r *Registry) Endpoint(tx *db.Tx, propertyID, integrationID, action string) (Endpoint, error) {
	row, err := loadEndpoint(tx, propertyID, integrationID, action)
	if err != nil {
		return Endpoint{}, err
	}
	return r.decryptEndpoint(tx.Context(), row)
}

// OwnEndpoints returns the endpoints of an integration with their tokens. Use the tokens only for the server's calls to that integration,
// and show them to no other integration.
func (r *Registry) OwnEndpoints(tx *db.Tx, propertyID, integrationID string) ([]Endpoint, error) {
	rows, err := tx.Endpoint.Query().Where(endpointsOfIntegration(propertyID, integrationID)).All(tx.Context())
	if err != nil {
		return nil, wrapError("list endpoints", err)
	}
	list := make([]Endpoint, len(rows))
	for i, row := range rows {
		if list[i], err = r.decryptEndpoint(tx.Context(), row); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, compareActions)
	return list, nil
}

// Unregister removes the endpoint of one action and returns it with its token, or a not-found fault. It resolves the notice that the
// endpoint fails. The spaces that the partner listed last stay stored.
func (r *Registry) Unregister(tx *db.Tx, propertyID, integrationID, action string) (Endpoint, error) {
	row, err := loadEndpoint(tx, propertyID, integrationID, action)
	if err != nil {
		return Endpoint{}, err
	}
	e, err := r.decryptEndpoint(tx.Context(), row)
	if err != nil {
		return Endpoint{}, err
	}
	if err := tx.Endpoint.DeleteOne(row).Exec(tx.Context()); err != nil {
		return Endpoint{}, wrapError("delete an endpoint", err)
	}
	return e, clearFailingNotice(tx, propertyID, integrationID, action)
}

// decryptEndpoint converts a row with its token, which it decrypts.
func (r *Registry) decryptEndpoint(ctx context.Context, row *ent.Endpoint) (Endpoint, error) {
	plain, err := r.keys.Open(ctx, row.PropertyID, tokenPurpose(row.IntegrationID, row.Action), row.SealedToken)
	if err != nil {
		return Endpoint{}, wrapError("open the token of an endpoint", err)
	}
	return endpointFromRow(row, string(plain)), nil
}

// loadEndpoint loads the endpoint of one action of an integration, or returns a not-found fault.
func loadEndpoint(tx *db.Tx, propertyID, integrationID, action string) (*ent.Endpoint, error) {
	rows, err := tx.Endpoint.Read(tx.Context(), "property_id = $1 AND integration_id = $2 AND action = $3", propertyID, integrationID, action)
	if err != nil {
		return nil, wrapError("find an endpoint", err)
	}
	if len(rows) == 0 {
		return nil, fault.New(fault.NotFound, fault.EndpointNotFound, "no endpoint is registered for this action")
	}
	return rows[0], nil
}

// endpointFromRow converts a row. token is its decrypted token, or empty.
func endpointFromRow(row *ent.Endpoint, token string) Endpoint {
	return Endpoint{
		PropertyID: row.PropertyID, IntegrationID: row.IntegrationID, Action: row.Action,
		URL: row.URL, Method: row.Method, Token: token, TokenIn: row.TokenPlace,
		Health: Health{Failures: row.Failures, LastSuccessAt: row.LastSuccessAt, LastFailureAt: row.LastFailureAt, LastError: Failure{row.LastError, row.LastProblem}},
	}
}

// sortEndpoints converts rows in the order of [Actions], without tokens.
func sortEndpoints(rows []*ent.Endpoint) []Endpoint {
	list := make([]Endpoint, 0, len(rows))
	for _, row := range rows {
		list = append(list, endpointFromRow(row, ""))
	}
	slices.SortFunc(list, compareActions)
	return list
}

// compareActions orders endpoints by their action, in the order of [Actions].
func compareActions(a, b Endpoint) int {
	return slices.Index(Actions, a.Action) - slices.Index(Actions, b.Action)
}

// endpointsOfIntegration matches all endpoints of an integration.
func endpointsOfIntegration(propertyID, integrationID string) predicate.Endpoint {
	return endpoint.And(endpoint.PropertyID(propertyID), endpoint.IntegrationID(integrationID))
}

// tokenPurpose returns the associated data of a sealed token, which binds the ciphertext to the endpoint.
func tokenPurpose(integrationID, action string) string {
	return "endpoint " + integrationID + " " + action
}

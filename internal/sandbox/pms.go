// Package sandbox simulates a property: a property management system with rooms, beds and reservations, guests who type
// PINs, and virtual locks behind a real bridge. The demo and the end-to-end tests use it. It uses only the public interfaces
// of the service.
package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"latchkey.dev/internal/pms"
)

// PMS is a property management system: it serves the three endpoints that the service calls, and pushes its reservations.
type PMS struct {
	Service string // Service is the base address of Latchkey's REST API
	Token   string // Token is the credential that Latchkey must send to the PMS
	client  *http.Client

	mu           sync.Mutex
	clientToken  string // clientToken is the app's, accessToken the integration's: both are sent with calls to the service
	accessToken  string
	secrets      []string                  // secrets has the signing secret that verifies the service's calls; empty before Register
	spaces       []Space                   // spaces are the answer of getSpaces
	reservations map[string]map[string]any // reservations has the fields of each reservation, by its id
	calls        []Call                    // calls are the first maxCalls calls of the service
	failStatus   int                       // failStatus is the status that FailCalls set; 0: none
	desk         desk

	ctx     context.Context // ctx ends when the PMS closes
	cancel  context.CancelFunc
	running sync.WaitGroup // running counts the updates that follow a checkIn
}

// Space is one entry of the answer to getSpaces.
type Space struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Name      string `json:"name"`
	IsPrivate bool   `json:"isPrivate"`
	IsActive  bool   `json:"isActive"`
	ParentID  string `json:"parentId,omitempty"`
}

// Call is one call of the service to the PMS.
type Call struct {
	Action   string    `json:"action"`
	At       time.Time `json:"at"`
	Verified bool      `json:"verified"` // Verified means that the call had a valid signature; always false before Register
}

// Limits of what a PMS stores.
const (
	maxCalls        = 1000
	maxReservations = 10_000
	maxIdleConns    = 32 // connections to the service that stay open between calls
)

// NewPMS returns a PMS with these spaces. token is the credential that the service must send.
func NewPMS(token string, spaces []Space) *PMS {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = maxIdleConns
	p := &PMS{
		Token: token, client: &http.Client{Timeout: 15 * time.Second, Transport: transport}, spaces: spaces, reservations: map[string]map[string]any{}, desk: newDesk(),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Close interrupts the updates that are being sent and the calls that are not answered, and waits for the end of the updates.
func (p *PMS) Close() {
	p.mu.Lock()
	p.cancel()
	p.mu.Unlock()
	p.running.Wait()
	p.client.CloseIdleConnections()
}

// SetCredentials sets the base address of the service's API and the tokens with which the PMS calls it.
func (p *PMS) SetCredentials(service, clientToken, accessToken string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Service, p.clientToken, p.accessToken = service, clientToken, accessToken
}

// SetSpaces changes the answer of getSpaces.
func (p *PMS) SetSpaces(spaces []Space) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spaces = slices.Clone(spaces)
}

// FailCalls makes the PMS answer every call of the service with an HTTP status, until FailCalls(0). Calls without the token get 401 as
// before.
func (p *PMS) FailCalls(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failStatus = status
}

// Calls lists the first maxCalls calls of the service, including those that the PMS refused.
func (p *PMS) Calls() []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// Answer is the service's answer to a call of the PMS.
type Answer struct {
	Status int
	Body   map[string]any
}

// Data returns the object "data" of the answer, or nil.
func (a Answer) Data() map[string]any {
	d, _ := a.Body["data"].(map[string]any)
	return d
}

// Do calls the service's REST API as this PMS. body may be nil. Every status is an Answer without an error; an answer that is no JSON is an
// error.
func (p *PMS) Do(ctx context.Context, method, path string, body any) (Answer, error) {
	var raw io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return Answer{}, fmt.Errorf("encode a request: %w", err)
		}
		raw = bytes.NewReader(b)
	}
	p.mu.Lock()
	service, clientToken, accessToken := p.Service, p.clientToken, p.accessToken
	p.mu.Unlock()
	req, err := http.NewRequestWithContext(ctx, method, service+path, raw)
	if err != nil {
		return Answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("client-token", clientToken)
	req.Header.Set("access-token", accessToken)
	res, err := p.client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer res.Body.Close()
	a := Answer{Status: res.StatusCode, Body: map[string]any{}}
	if err := json.NewDecoder(io.LimitReader(res.Body, 4<<20)).Decode(&a.Body); err != nil {
		return a, fmt.Errorf("%s %s answered %d without JSON: %w", method, path, res.StatusCode, err)
	}
	return a, nil
}

// Register registers the three endpoints of the PMS at the service, and keeps the signing secret that it returns. self is the base URL of
// the PMS.
func (p *PMS) Register(ctx context.Context, self string) error {
	for action, at := range map[string]string{"getSpaces": "/spaces", "getCheckInStatus": "/check-in-status", "checkIn": "/check-in"} {
		method := http.MethodGet
		if action == "checkIn" {
			method = http.MethodPost
		}
		a, err := p.Do(ctx, http.MethodPatch, "/v1/endpoints", map[string]any{"action": action, "url": self + at, "method": method, "token": p.Token})
		if err != nil {
			return err
		}
		if a.Status != http.StatusOK {
			return fmt.Errorf("register %s: the service answered %d: %v", action, a.Status, a.Body["error"])
		}
		if secret, ok := a.Body["signingSecret"].(string); ok && secret != "" {
			p.mu.Lock()
			p.secrets = []string{secret}
			p.mu.Unlock()
		}
	}
	return nil
}

// Push merges fields into a reservation of the PMS and sends them to the service, as a PMS does with each change. The PMS keeps them even
// if the service refuses them: check the status of the answer.
func (p *PMS) Push(ctx context.Context, id string, fields map[string]any) (Answer, error) {
	sent := maps.Clone(fields)
	meta, _ := sent["pmsMeta"].(map[string]any)
	meta = maps.Clone(meta)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["id"] = id
	meta["updatedAt"] = time.Now().UTC().Format(time.RFC3339Nano)
	sent["pmsMeta"] = meta
	if err := p.mergeReservation(id, fields); err != nil {
		return Answer{}, err
	}
	return p.Do(ctx, http.MethodPatch, "/v1/reservations", sent)
}

// mergeReservation stores changed fields of a reservation in the PMS without a push. It creates the reservation if necessary, and fails
// beyond maxReservations.
func (p *PMS) mergeReservation(id string, fields map[string]any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	held := p.reservations[id]
	if held == nil {
		if len(p.reservations) >= maxReservations {
			return fmt.Errorf("this PMS can store at most %d reservations", maxReservations)
		}
		held = map[string]any{}
		p.reservations[id] = held
	}
	maps.Copy(held, fields)
	return nil
}

// recordCall records a call of the service to the endpoint for an action, up to maxCalls, and reports whether its token is valid. An
// invalid signature is only recorded.
func (p *PMS) recordCall(action string, r *http.Request, body []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	verified := false
	if len(p.secrets) > 0 {
		_, err := pms.Verify(p.secrets, r, body, time.Now())
		verified = err == nil
	}
	if len(p.calls) < maxCalls {
		p.calls = append(p.calls, Call{Action: action, At: time.Now().UTC(), Verified: verified})
	}
	return r.URL.Query().Get("token") == p.Token || r.Header.Get("Authorization") == "Bearer "+p.Token
}

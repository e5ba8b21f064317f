package sandbox

import (
	"context"
	"fmt"
	"net/http"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// DashboardURL returns the address of the staff's pages. A person without a login creates one with [World.StaffLink].
func (w *World) DashboardURL() string { return "http://" + w.Server.HTTPAddr() + "/app/" }

// StaffLink returns the latest link of [World.NewStaffLink], with which a person creates a login as owner of the demo's property, also if
// it was used, or "" before the first, which Play makes. A link works once, within 24 hours.
func (w *World) StaffLink() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.staffLink
}

// NewStaffLink makes a link with which one more person becomes owner. The earlier link ends.
func (w *World) NewStaffLink(ctx context.Context) (string, error) {
	made, err := adminv1.NewOwnerServiceClient(w.admin).CreateOwnerLink(ctx, &adminv1.CreateOwnerLinkRequest{PropertyId: w.PropertyID})
	if err != nil {
		return "", fmt.Errorf("create a link for an owner: %w", err)
	}
	people, err := w.countPeople(ctx)
	if err != nil {
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.staffLink, w.peopleBefore = w.DashboardURL()+"first/"+made.GetData().GetSecret(), people
	return w.staffLink, nil
}

// countPeople returns how many people work at the property.
func (w *World) countPeople(ctx context.Context) (int, error) {
	found, err := propertyv1.NewPersonServiceClient(w.public).ListPeople(w.Staff(ctx), &propertyv1.ListPeopleRequest{})
	if err != nil {
		return 0, fmt.Errorf("list the people of the staff: %w", err)
	}
	return len(found.GetData().GetList()), nil
}

// unusedStaffLink returns the link for staff, or "" once a person has joined the staff since the link was made.
func (p *play) unusedStaffLink(ctx context.Context) (string, error) {
	people, err := p.w.countPeople(ctx)
	if err != nil {
		return "", err
	}
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if people > p.w.peopleBefore {
		return "", nil
	}
	return p.w.staffLink, nil
}

// renewStaffLink handles the button for a new link for staff.
func (p *play) renewStaffLink(rw http.ResponseWriter, r *http.Request) {
	_, err := p.w.NewStaffLink(r.Context())
	p.redirectWithNote(rw, r, "staff", outcome(err, "The new link works once, within a day. The former one has ended."))
}

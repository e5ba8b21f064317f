package sandbox

import (
	"context"
	"fmt"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
)

// DashboardURL returns the address of the staff's pages. A person who has no login makes one with [World.StaffLink].
func (w *World) DashboardURL() string { return "http://" + w.Server.HTTPAddr() + "/app/" }

// StaffLink returns the link with which a person makes a login as owner of the demo's property, or "" without Play. It works once, within 24 hours.
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
	w.mu.Lock()
	defer w.mu.Unlock()
	w.staffLink = w.DashboardURL() + "first/" + made.GetData().GetSecret()
	return w.staffLink, nil
}

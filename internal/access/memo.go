package access

import (
	"encoding/json"
	"sync"
)

// memo remembers what texts of JSON say: each change of a reservation reads those of the same few locks again. What it
// answers is shared and must not be changed.
type memo[T any] struct {
	mu   sync.RWMutex
	said map[string]T
}

// mostSaid bounds a memo; one that is full begins anew.
const mostSaid = 4096

func (m *memo[T]) of(raw []byte) (T, error) {
	m.mu.RLock()
	v, ok := m.said[string(raw)]
	m.mu.RUnlock()
	if ok {
		return v, nil
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.said == nil || len(m.said) >= mostSaid {
		m.said = map[string]T{}
	}
	m.said[string(raw)] = v
	return v, nil
}

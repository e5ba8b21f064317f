package main

// listPage is what the pages of all lists of the API have.
type listPage[T any] interface {
	GetList() []T
	GetNextPageToken() string
}

// allPages loads all pages of a list. load returns the page with a token; the first page has an empty one.
func allPages[T any, P listPage[T]](load func(token string) (P, error)) ([]T, error) {
	var all []T
	for token := ""; ; {
		page, err := load(token)
		if err != nil {
			return nil, err
		}
		all = append(all, page.GetList()...)
		if token = page.GetNextPageToken(); token == "" {
			return all, nil
		}
	}
}

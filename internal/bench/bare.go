package bench

type barePart struct{ process }

func (*barePart) Close() error { return nil }

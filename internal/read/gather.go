package read

import "cmp"

// PageBytes bounds a page by what its entries hold, beside their number: a thousand messages of the largest kind are
// 300 MiB. One entry always fits.
const PageBytes = 4 << 20

// Parts of a page: the first is small, because nothing is known yet of what the entries hold; none is so long that
// entries of the largest kind would be much more than ten mebibytes.
const (
	firstPart = 8
	maxPart   = 64
	lightPart = 1000
)

// usual is the length of a page by default.
const usual = 50

// Gather reads a page in parts, until it has so many entries or holds PageBytes. size is about what an entry holds;
// part reads up to so many entries behind a cursor, and says where they ended.
func Gather[T any](cursor string, limit int, size func(*T) int, part func(cursor string, limit int) ([]T, string, error)) (list []T, next string, err error) {
	return gather(cursor, limit, firstPart, maxPart, size, part)
}

func gather[T any](cursor string, limit, first, longest int, size func(*T) int, part func(cursor string, limit int) ([]T, string, error)) (list []T, next string, err error) {
	if limit <= 0 {
		limit = usual
	}
	used := 0
	for n := min(first, limit); ; {
		more, after, err := part(cursor, n)
		if err != nil {
			return nil, "", err
		}
		fit, held := fitting(more, PageBytes-used, size)
		if fit == 0 && len(list) == 0 && len(more) > 0 {
			fit = 1
		}
		if fit < len(more) {
			if fit > 0 { // again, for where they end
				if more, after, err = part(cursor, fit); err != nil {
					return nil, "", err
				}
				list, cursor = append(list, more...), after
			}
			return list, cursor, nil
		}
		list, cursor, used = append(list, more...), after, used+held
		if cursor == "" || len(list) >= limit {
			return list, cursor, nil
		}
		room := (PageBytes - used) / max(used/max(len(list), 1), 1)
		n = max(1, min(4*n, longest, limit-len(list), room))
	}
}

// Looked is Gather for parts that look through a bounded number of rows: the page ends with the first that is shorter than asked for, and the
// next page goes on behind it.
func Looked[T any](cursor string, limit int, size func(*T) int, part func(cursor string, limit int) ([]T, string, error)) ([]T, string, error) {
	return looked(cursor, limit, firstPart, maxPart, size, part)
}

// LookedLight is Looked for entries that hold ten kilobytes at the most: the longest page of them is read at once.
func LookedLight[T any](cursor string, limit int, size func(*T) int, part func(cursor string, limit int) ([]T, string, error)) ([]T, string, error) {
	return looked(cursor, limit, lightPart, lightPart, size, part)
}

func looked[T any](cursor string, limit, first, longest int, size func(*T) int, part func(cursor string, limit int) ([]T, string, error)) ([]T, string, error) {
	behind := ""
	list, next, err := gather(cursor, limit, first, longest, size, func(cursor string, limit int) ([]T, string, error) {
		more, next, err := part(cursor, limit)
		if len(more) < limit {
			behind, next = next, ""
		}
		return more, next, err
	})
	return list, cmp.Or(next, behind), err
}

// fitting is how many entries from the first on have room, and what those hold.
func fitting[T any](list []T, room int, size func(*T) int) (n, held int) {
	for i := range list {
		one := size(&list[i])
		if held+one > room {
			return i, held
		}
		held += one
	}
	return len(list), held
}

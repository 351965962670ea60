// Package render fills templates: texts with placeholders such as ${name} and
// {name}. It also measures and shortens texts the way their readers see them.
//
// It is not a programming language. A template has no conditions, loops or
// functions, reads nothing but the values it is given, and is filled in one
// pass: a value is inserted as it stands and is never looked at again, so that
// a placeholder inside a value stays the text it is.
//
// # Writing a template
//
//	${name}  {name}   the value of name
//	${order.id}       the field id of the object order
//	{{name}}          the text {name}
//	$${name}          the text ${name}
//	$$${name}         a dollar sign and the value of name
//
// A name is made of letters of any script, digits, "_" and "-"; dots part it
// where it reaches into an object. Each part begins with a letter, a digit or
// "_". A brace that does not enclose a name is ordinary text, so JSON such as
// {"a": {"b": 1}} needs no escape. Only "${" must be followed by a name and "}":
// anything else there is a mistake, and Parse says where it is. ParseBraces reads
// the plainer kind of the SMS document, {name} alone; ParseDollars the kind of
// requests to providers, ${name} alone, where each value is escaped for the Place
// that it stands in: JSON, a URL, a form or XML.
package render

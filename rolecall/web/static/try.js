// Call the origin that served this page, so that the content security policy allows it. The token stays in memory.
const answer = await fetch("/openapi.json");
const spec = { ...(await answer.json()), servers: [{ url: location.origin }] };
SwaggerUIBundle({ spec, dom_id: "#operations", deepLinking: true, docExpansion: "none", filter: true, validatorUrl: null });

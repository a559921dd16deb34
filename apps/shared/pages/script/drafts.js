// Keeps typed texts.
/**
 * Texts of a form stay in this tab until the form was accepted, because a session may end in between, and the way back leads through the
 * sign-in. Only the person who typed them gets them back, and coming back sends no form.
 */
const DRAFTS = 'drafts';
const person = document.querySelector('.person-name')?.textContent;

function changeDrafts(change) {
  try {
    const drafts = JSON.parse(sessionStorage.getItem(DRAFTS) ?? '{}');
    change(drafts);
    sessionStorage.setItem(DRAFTS, JSON.stringify(drafts));
  } catch {
    // Without storage, texts are lost as they are without this script.
  }
}

// A form of the previous page was accepted, unless this page reports a refusal.
changeDrafts((drafts) => {
  const isRefused = document.querySelector('[data-refused]') !== null;
  for (const [form, draft] of Object.entries(drafts)) {
    if (!draft.isSent) continue;
    if (isRefused) draft.isSent = false;
    else delete drafts[form];
  }
});

// A decision that was sent from a later page counted.
addEventListener('decided', ({ detail }) => changeDrafts((drafts) => delete drafts[detail]));

for (const form of document.querySelectorAll('form[method="post"]')) {
  const name = form.getAttribute('action');
  const fields = [...form.querySelectorAll('textarea, input[type="text"], input[type="date"]')];
  changeDrafts((drafts) => {
    const draft = drafts[name];
    for (const field of fields) if (draft?.person === person) field.value = draft.texts[field.name] ?? field.value;
  });
  form.addEventListener('input', () =>
    changeDrafts((drafts) => {
      drafts[name] = { person, texts: Object.fromEntries(fields.map((field) => [field.name, field.value])) };
    }),
  );
  form.addEventListener('submit', () =>
    changeDrafts((drafts) => {
      if (name === '/sign-out') for (const each of Object.keys(drafts)) delete drafts[each];
      else if (drafts[name] !== undefined) drafts[name].isSent = true;
    }),
  );
}

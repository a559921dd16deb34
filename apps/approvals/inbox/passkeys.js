// Asks the browser for a passkey before a form is sent that needs one. SimpleWebAuthnBrowser stands above, in the same file.
const { startAuthentication, startRegistration } = SimpleWebAuthnBrowser;

// The page says that it needs this script, which runs now.
for (const hint of document.querySelectorAll('[data-without-script]')) hint.hidden = true;

/** The words for a passkey that was not used. Nothing was sent. */
function problemOf(error) {
  if (error.name === 'NotAllowedError' || error.name === 'AbortError')
    return 'The passkey was not used: it was refused, or took too long. Nothing was sent. You can try again.';
  if (error.name === 'InvalidStateError') return 'This device has a passkey for you already. Nothing was sent.';
  return `The passkey cannot be used: ${error.message}. Nothing was sent.`;
}

/** What the passkey has to answer for this form and this button; undefined if the button needs none. */
function ceremonyOf(form, button) {
  if (form.dataset.passkeyRegistration !== undefined)
    return () => startRegistration({ optionsJSON: JSON.parse(form.dataset.passkeyRegistration) });
  if (form.dataset.passkeys === undefined || button?.value !== 'approve') return undefined;
  const options = JSON.parse(form.dataset.passkeys)[form.elements.onBehalfOf?.value ?? ''];
  return options && (() => startAuthentication({ optionsJSON: options }));
}

// Forms whose passkey has answered, and which are sent now.
const answered = new WeakSet();

async function confirmAndSend(form, button, ceremony) {
  const problem = form.querySelector('[data-passkey-problem]');
  problem.hidden = true;
  try {
    const answer = await ceremony();
    form.elements.passkey.value = JSON.stringify(answer);
  } catch (error) {
    problem.textContent = problemOf(error);
    problem.hidden = false;
    return;
  }
  answered.add(form);
  form.requestSubmit(button);
}

// Before all other listeners, which then see only the form that is sent.
document.addEventListener(
  'submit',
  (event) => {
    const form = event.target;
    const ceremony = answered.delete(form) ? undefined : ceremonyOf(form, event.submitter);
    if (ceremony === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    void confirmAndSend(form, event.submitter, ceremony);
  },
  true,
);

"""Verifies the passkey signatures in outcome records, with py_webauthn alone: no code of Countersign, no database, no network.

Reads a record, as the auditors' API answers it, from standard input. Prints one line for each vote with a passkey. Exit code 1 if one does
not prove what the record says of the vote.

    python verify.py --rp-id approvals.example.com --origin https://approvals.example.com < record.json
"""

import argparse
import hashlib
import json
import sys

from webauthn import base64url_to_bytes, verify_authentication_response


def verify(vote, request, rp_id, origin):
    """Raises an exception unless the key in the vote signed this vote, on a page of this site, by a verified person."""
    passkey = vote["passkey"]
    response = {
        "authenticatorData": passkey["authenticatorData"],
        "clientDataJSON": passkey["clientDataJSON"],
        "signature": passkey["signature"],
    }
    credential = passkey["credentialId"]
    verify_authentication_response(
        credential=json.dumps({"id": credential, "rawId": credential, "type": "public-key", "response": response}),
        expected_challenge=hashlib.sha256(passkey["challenge"].encode()).digest(),
        expected_rp_id=rp_id,
        expected_origin=origin,
        credential_public_key=base64url_to_bytes(passkey["publicKey"]),
        credential_current_sign_count=0,
        require_user_verification=True,
    )
    signed = json.loads(passkey["challenge"])
    # The digest of the call is salted. It is compared by those who have the nonce.
    signed.pop("call")
    said = {
        "type": "countersign/vote",
        "verdict": vote["verdict"],
        "approver": vote["approver"]["subject"],
        "signer": vote.get("castBy", vote["approver"])["subject"],
        "request": request["accessRequestId"],
        "generation": request["generation"],
        "stage": vote["stage"],
    }
    if signed != said:
        raise ValueError(f"the passkey signed {signed}, and the record says {said}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rp-id", required=True, help="domain name of the inbox; localhost in development")
    arguments.add_argument("--origin", required=True, help="address of the inbox: scheme, host and port")
    given = arguments.parse_args()
    is_proven = True
    for request in json.load(sys.stdin)["record"]["accessRequests"]:
        for vote in request.get("statement", {}).get("votes", []):
            if "passkey" not in vote:
                continue
            who = f"{vote['approver']['subject']} in stage {vote['stage']} of {request['accessRequestId']}"
            try:
                verify(vote, request, given.rp_id, given.origin)
                print(f"proven: {who}")
            except Exception as error:
                is_proven = False
                print(f"NOT PROVEN: {who}: {error}")
    sys.exit(0 if is_proven else 1)


main()

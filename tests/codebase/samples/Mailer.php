<?php
namespace App\Mail;

use App\Support\Text;
require_once 'lib/bootstrap.php';

/**
 * Sends letters.
 */
class Mailer extends Base implements Sends
{
    use Logs;
    const RETRIES = 3;
    private $queue = [];

    public function send(Letter $letter): bool
    {
        $clean = Text::clean($letter->body());
        return deliver(new Envelope($clean));
    }
}

interface Sends { public function send(Letter $letter): bool; }
function deliver($envelope) { return true; }
